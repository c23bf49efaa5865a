"""Clustering of a field's access keys into runs of one class, each sorted by the end that searches use.

Ranges with two ends are divided by width into classes of fourfold growth. A search by the lower end then examines few
ranges that end too early. A width of 0 is equality; there it examines none in vain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.layouts import ANY, Runs
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LOWEST_CODE
from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels.sorting import sort_numbers

_LOCAL_BITS = np.int64(27)
_LOCAL_MASK = np.int64(2**27 - 1)
_CLASS_SHIFT = np.int64(58)
_EQUALITY = 3


@inlined
def range_class(low: int, high: int) -> int:
    """0 for ANY, 1 for AT_MOST, 2 for AT_LEAST, 3 for equality, and 3 + k for a width below 4**k."""
    if high == HIGHEST_CODE:
        return 0 if low <= LOWEST_CODE else 2
    if low <= LOWEST_CODE:
        return 1
    width = high - low
    number = 3
    while width > 0:
        width >>= 2
        number += 1
    return number


@kernel
def cluster(
    fields: int, entry_fields: NDArray[np.int32], lows: NDArray[np.int32], highs: NDArray[np.int32]
) -> tuple[NDArray[np.int64], Runs]:
    """The entries in clustered order, and their runs. At most 2**27 entries a field."""
    starts = np.zeros(fields + 1, np.int64)
    for i in range(len(entry_fields)):
        starts[entry_fields[i] + 1] += 1
    for d in range(fields):
        starts[d + 1] += starts[d]
    by_field = np.empty(len(entry_fields), np.int64)
    places = np.empty(fields, np.int64)
    for d in range(fields):
        places[d] = starts[d]
    for i in range(len(entry_fields)):
        by_field[places[entry_fields[i]]] = i
        places[entry_fields[i]] += 1
    order, classes = _sorted_by_class(starts, by_field, lows, highs)
    return order, _runs_of(starts, order, classes, lows, highs)


@inlined
def _sorted_by_class(
    starts: NDArray[np.int64], by_field: NDArray[np.int64], lows: NDArray[np.int32], highs: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Sort within each field: by class, then by the class's end, then in the original order."""
    order = np.empty(len(by_field), np.int64)
    classes = np.empty(len(by_field), np.uint8)
    keys = np.empty(len(by_field), np.int64)
    for d in range(len(starts) - 1):
        first = starts[d]
        for local in range(starts[d + 1] - first):
            i = by_field[first + local]
            number = np.int64(range_class(lows[i], highs[i]))
            end = np.int64(highs[i]) if number == 1 else np.int64(max(np.int64(lows[i]), LOWEST_CODE))
            keys[first + local] = (number << _CLASS_SHIFT) | (end << _LOCAL_BITS) | local
        sort_numbers(keys, first, starts[d + 1])
        for place in range(first, starts[d + 1]):
            order[place] = by_field[first + (keys[place] & _LOCAL_MASK)]
            classes[place] = keys[place] >> _CLASS_SHIFT
    return order, classes


@inlined
def _runs_of(
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    classes: NDArray[np.uint8],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
) -> Runs:
    fields = len(starts) - 1
    run_starts = np.zeros(fields + 1, np.int32)
    for d in range(fields):
        runs = 0
        for place in range(starts[d], starts[d + 1]):
            runs += place == starts[d] or classes[place] != classes[place - 1]
        run_starts[d + 1] = run_starts[d] + runs
    count = np.int64(run_starts[fields])
    stops, widths = np.empty(count, np.int64), np.empty(count, np.int32)
    for d in range(fields):
        run = run_starts[d] - 1
        for place in range(starts[d], starts[d + 1]):
            i = order[place]
            if place == starts[d] or classes[place] != classes[place - 1]:
                run += 1
                widths[run] = np.int32(min(np.int64(classes[place]) + ANY, 0))
            if classes[place] >= _EQUALITY:
                widths[run] = max(np.int64(widths[run]), np.int64(highs[i]) - np.int64(lows[i]))
            stops[run] = place + 1
    return Runs(starts, run_starts, stops, widths)
