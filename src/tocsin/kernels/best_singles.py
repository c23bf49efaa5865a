"""Which are the best subscriptions of one range each that an event satisfies? The cursors of its values, merged.

Cursors know the scores that there were when their index was built. Whoever has another one since is tested by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.code_sets import EventCodes
from tocsin.kernels.cursors import next_place, open_cursor
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import borrowed
from tocsin.kernels.ranked_layouts import Ranges

_UNOPENED = np.int64(-1)
_DONE = np.int64(-2)


class Singles(NamedTuple):
    """Subscriptions of one range each, by place: score descending within a field, then number. N of them, S in all."""

    ranges: Ranges
    scores: NDArray[np.float64]  # (N,)
    owners: NDArray[np.int32]  # (N,)
    fields: NDArray[np.int32]  # (N,)
    places: NDArray[np.int32]  # (S,) the place of each subscription, -1 for one that is none of them


@kernel
def best_singles(
    structure: Any,
    singles: Singles,
    events: EventCodes,
    k: int,
    alive: NDArray[np.uint64],
    scores: NDArray[np.float64],
    changed: NDArray[np.int32],
    states: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write, for each event, its k best by `scores` among those unchanged, and all of `changed` that it satisfies.

    `out` has room for k and all changed of each event. Returns how many intervals were looked at.
    """
    structure, singles, events, alive, scores, changed, states, ends, out = borrowed(
        (structure, singles, events, alive, scores, changed, states, ends, out)
    )
    (starts, lows, highs, _), known, owners, _, _ = singles
    own_starts, own_fields, own_codes, _ = events
    changed_starts, changed_places = _by_field(singles, changed)
    heads, bests = np.empty(len(states), np.int64), np.empty(len(states), np.float64)
    written, examined = np.int64(0), np.int64(0)
    for event in range(len(ends)):
        first, size = own_starts[event], own_starts[event + 1] - own_starts[event]
        for i in range(size):
            field = own_fields[first + i]
            heads[i] = _UNOPENED if starts[field] < starts[field + 1] else _DONE
            bests[i] = known[starts[field]] if starts[field] < starts[field + 1] else -np.inf
        left = k
        while left > 0:
            chosen = -1
            for i in range(size):
                if heads[i] == _DONE:
                    continue
                if (
                    chosen < 0
                    or bests[i] > bests[chosen]
                    or (bests[i] == bests[chosen] and _comes_first(heads, owners, i, chosen))
                ):
                    chosen = i
            if chosen < 0:
                break
            code = own_codes[first + chosen]
            if heads[chosen] == _UNOPENED:
                open_cursor(structure, np.int64(own_fields[first + chosen]), code, states[chosen])
            else:
                number = owners[heads[chosen]]
                is_alive = (alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)
                if is_alive and scores[number] == bests[chosen]:
                    out[written] = number
                    written += 1
                    left -= 1
            heads[chosen] = next_place(structure, code, states[chosen])
            examined += 1
            if heads[chosen] < 0:
                heads[chosen] = _DONE
            else:
                bests[chosen] = known[heads[chosen]]
        for i in range(size):
            field, code = own_fields[first + i], own_codes[first + i]
            for j in range(changed_starts[field], changed_starts[field + 1]):
                place = changed_places[j]
                if lows[place] <= code <= highs[place]:
                    out[written] = owners[place]
                    written += 1
        ends[event] = written
    return examined


@kernel
def _comes_first(heads: NDArray[np.int64], owners: NDArray[np.int32], one: int, other: int) -> bool:
    """Of two cursors of one score: one that is not open may have a lower number, and is opened first."""
    if heads[one] < 0 or heads[other] < 0:
        return heads[one] < 0 and heads[other] >= 0
    return owners[heads[one]] < owners[heads[other]]


@kernel
def _by_field(singles: Singles, changed: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The places of those of some subscriptions that are singles, by field, in CSR form."""
    starts = np.zeros(len(singles.ranges.last) + 2, np.int64)
    for number in changed:
        place = singles.places[number]
        if place >= 0:
            starts[singles.fields[place] + 2] += 1
    for field in range(2, len(starts)):
        starts[field] += starts[field - 1]
    out = np.empty(starts[-1], np.int32)
    for number in changed:
        place = singles.places[number]
        if place >= 0:
            field = singles.fields[place]
            out[starts[field + 1]] = place
            starts[field + 1] += 1
    return starts[:-1], out
