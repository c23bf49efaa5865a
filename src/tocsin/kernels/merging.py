"""How do the matches of two sources become one list an event? A merge by key; keys are distinct within an event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


@kernel
def segment_keys(
    numbers: NDArray[np.int32],
    ranks: NDArray[np.int32],
    gap: int,
    source: int,
    keys: NDArray[np.int64],
    places: NDArray[np.int64],
) -> None:
    """Write the key of each match of a segment, `(2 rank + 1) gap`, and its place. No ranks: they are the numbers."""
    for i in range(len(numbers)):
        number = np.int64(numbers[i])
        rank = np.int64(ranks[number]) if len(ranks) else number
        keys[i] = (2 * rank + 1) * gap
        places[i] = (source << 32) | number


@kernel
def merge_two(
    left_starts: NDArray[np.int64],
    left_keys: NDArray[np.int64],
    left_places: NDArray[np.int64],
    right_starts: NDArray[np.int64],
    right_keys: NDArray[np.int64],
    right_places: NDArray[np.int64],
    starts: NDArray[np.int64],
    keys: NDArray[np.int64],
    places: NDArray[np.int64],
) -> None:
    """Write the matches of both, event by event, in the order of the keys."""
    to = 0
    for event in range(len(starts) - 1):
        i = left_starts[event]
        i_stop = left_starts[event + 1]
        j = right_starts[event]
        j_stop = right_starts[event + 1]
        while i < i_stop or j < j_stop:
            if j == j_stop or (i < i_stop and left_keys[i] <= right_keys[j]):
                keys[to] = left_keys[i]
                places[to] = left_places[i]
                i += 1
            else:
                keys[to] = right_keys[j]
                places[to] = right_places[j]
                j += 1
            to += 1
        starts[event + 1] = to
