"""Which subscriptions are looked at by themselves? Those with general dimensions, or several ranges of one field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.threshold import Asked
from tocsin.index.relaxed.kernels.weighing import FIELD, MORE, NOTHING, ROW, Dimensions, keep, score_of, sort_best
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import borrowed


@kernel
def is_alone(rows: NDArray[np.int32], start: int, stop: int) -> bool:
    """Whether a subscription of rows [start, stop) is in no tile and no list."""
    for d in range(start, stop):
        if rows[ROW * d + FIELD] < 0 or rows[ROW * d + MORE] >= 0:
            return True
    return False


@kernel
def those_alone(dimensions: Dimensions) -> NDArray[np.int32]:
    """The subscriptions that are in no tile and no list."""
    alone, count = np.empty(len(dimensions.starts) - 1, np.int32), 0
    for s in range(len(alone)):
        if is_alone(dimensions.rows, dimensions.starts[s], dimensions.starts[s + 1]):
            alone[count] = s
            count += 1
    return alone[:count].copy()


@kernel
def best_one_by_one(
    dimensions: Dimensions,
    alone: NDArray[np.int32],
    asked: Asked,
    fields: int,
    generals: int,
    events: NDArray[np.int64],
    scores: NDArray[np.float64],
    numbers: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:
    """Put those that are alone on the heaps of some events, and turn these into the best first."""
    dimensions, alone, asked, events, scores, numbers, found = borrowed(
        (dimensions, alone, asked, events, scores, numbers, found)
    )
    starts, rows, weights, ranges = dimensions
    own_starts, own_fields, own_codes, own_uppers, held_starts, held_now, alive, combine, _, _, _ = asked
    values, uppers = np.full(fields, -1, np.int32), np.full(fields, -1, np.int32)
    held = np.zeros(generals, np.int32)
    for i in range(len(events)):
        event = events[i]
        kept = found[event]
        for at in range(own_starts[event], own_starts[event + 1]):
            values[own_fields[at]], uppers[own_fields[at]] = own_codes[at], own_uppers[at]
        for at in range(held_starts[event], held_starts[event + 1]):
            held[held_now[at]] = i + 1
        for number in alone:
            at = np.uint64(number)
            if (alive[at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1):
                score = score_of(starts, rows, weights, ranges, combine, values, uppers, held, i + 1, number)
                if score != NOTHING:
                    kept = keep(scores[event], numbers[event], kept, score, number)
        for at in range(own_starts[event], own_starts[event + 1]):
            values[own_fields[at]] = uppers[own_fields[at]] = -1
        sort_best(scores[event], numbers[event], kept)
        found[event] = kept
