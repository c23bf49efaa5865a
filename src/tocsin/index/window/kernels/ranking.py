"""What are the best messages of each of some subscriptions, in order? Those of its buffer, put in as they are met."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.buffers import is_better, number_of, place_in
from tocsin.index.window.kernels.layouts import COUNT, Buffers
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import viewed


@kernel
def write_best(
    buffers: Buffers,
    slots: NDArray[np.int32],
    newest: int,
    starts: NDArray[np.int64],
    numbers: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Write the best of each slot, so many as there is room for between its starts, best first."""
    held = viewed(buffers)
    for i in range(len(slots)):
        slot, first, stop = np.int64(slots[i]), starts[i], starts[i + 1]
        kept = first
        for entry in range(held.small[slot, COUNT]):
            at = place_in(held, slot, np.int64(entry))
            score, number = held.scores[at], number_of(held.numbers[at], newest)
            if kept < stop:
                kept += 1
            elif not is_better(score, number, scores[stop - 1], numbers[stop - 1]):
                continue
            place = kept - 1
            while place > first and is_better(score, number, scores[place - 1], numbers[place - 1]):
                scores[place], numbers[place] = scores[place - 1], numbers[place - 1]
                place -= 1
            scores[place], numbers[place] = score, number
