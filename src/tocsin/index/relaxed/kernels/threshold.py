"""Of which subscriptions do most dimensions hold? The threshold algorithm over one cursor a dimension.

Fagin, Lotem, Naor 2003, as Machanavajjhala et al. 2008 use it (section 4): cursors are moved in turns; what comes up is
scored as a whole; what has not come up yet cannot score above the threshold, which all cursors' last weights make.
An event for which the cursors have given more than it would cost to look at all is left to `tiles`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.weighing import NOTHING, SUM, Dimensions, holds, keep, score_of, sort_best
from tocsin.index.scored.kernels.cursors import next_place, open_cursor
from tocsin.index.scored.kernels.layouts import EXAMINED
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import borrowed

LEFT: Final = -1
"""How many are found for an event that is left to `tiles`."""

_FIRST: Final = 8
_AGAIN: Final = 64
"""Where three in four of a batch's events have been left, all others are, at once; but one in so many is tried."""


class Lists(NamedTuple):
    """What cursors give, by place. F fields, N intervals, G general dimensions."""

    places: NDArray[np.int64]  # (F + 1,) the intervals of field f are [places[f], places[f + 1])
    weights: NDArray[np.float64]  # (N,)
    owners: NDArray[np.int32]  # (N,) the subscription
    generals: NDArray[np.int32]  # (G,) that of each general dimension


class Asked(NamedTuple):
    """The fields of events, and what is asked of them. E events, V values."""

    starts: NDArray[np.int64]  # (E + 1,)
    fields: NDArray[np.int32]  # (V,) in the order of their attributes' names
    codes: NDArray[np.int32]  # (V,)
    uppers: NDArray[np.int32]  # (V,) as `EventCodes` has them
    held_starts: NDArray[np.int64]  # (E + 1,)
    held: NDArray[np.int32]  # the general dimensions that hold
    alive: NDArray[np.uint64]
    combine: int
    is_exact: bool  # whether sums of weights are never rounded
    most: int  # intervals that cursors may give an event, below 0 for none,
    share: float  # and so many more for each interval of its fields


@kernel
def best_by_cursors(
    structure: Any,
    dimensions: Dimensions,
    lists: Lists,
    asked: Asked,
    fields: int,
    states: NDArray[np.int64],
    scores: NDArray[np.float64],
    numbers: NDArray[np.int32],
    found: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write the best of each event, best first, to its row of `scores` and `numbers`, and how many into `found`.

    LEFT for an event that is left. Adds to `counts`: intervals looked at, subscriptions scored. `states` has a row for
    each field that one event can have.
    """
    structure, dimensions, lists, asked, states, scores, numbers, found, counts = borrowed(
        (structure, dimensions, lists, asked, states, scores, numbers, found, counts)
    )
    starts, rows, weights, ranges = dimensions
    places, list_weights, owners, generals = lists
    own_starts, own_fields, own_codes, own_uppers, held_starts, held_now, alive, combine, is_exact, most, share = asked
    values, uppers = np.full(fields, -1, np.int32), np.full(fields, -1, np.int32)
    seen = np.zeros(len(starts), np.int32)
    held = np.zeros(len(generals) + 1, np.int32)
    last_weights, last_owners = np.empty(len(states), np.float64), np.empty(len(states), np.int64)
    left = 0
    for event in range(len(found)):
        if most < 0 or (event > _FIRST and 4 * left > 3 * event and event % _AGAIN):
            found[event] = LEFT
            left += 1
            continue
        limit = most
        for i in range(own_starts[event], own_starts[event + 1]):
            limit += np.int64(share * (places[own_fields[i] + 1] - places[own_fields[i]]))
        if _has_ranges(own_codes, own_uppers, own_starts[event], own_starts[event + 1]):
            found[event] = LEFT
            continue
        stamp = event + 1
        best_scores, best_numbers = scores[event], numbers[event]
        first, size = own_starts[event], own_starts[event + 1] - own_starts[event]
        for i in range(size):
            values[own_fields[first + i]] = own_codes[first + i]
            uppers[own_fields[first + i]] = own_uppers[first + i]
        for i in range(held_starts[event], held_starts[event + 1]):
            held[held_now[i]] = stamp
        for i in range(size):
            field = own_fields[first + i]
            open_cursor(structure, np.int64(field), own_codes[first + i], states[i])
            last_weights[i] = list_weights[places[field]] if places[field] < places[field + 1] else NOTHING
            last_owners[i] = -1
        kept, given, going = np.int64(0), held_starts[event + 1] - held_starts[event], True
        for i in range(held_starts[event], held_starts[event + 1]):  # they may hold for whom no list has
            kept = _offer(
                np.int64(generals[held_now[i]]),
                starts,
                rows,
                weights,
                ranges,
                combine,
                values,
                uppers,
                held,
                stamp,
                alive,
                seen,
                best_scores,
                best_numbers,
                kept,
                counts,
            )
        while going and given <= limit:
            going = False
            for i in range(size):
                if last_weights[i] == NOTHING:
                    continue
                place = next_place(structure, own_codes[first + i], states[i])
                if place < 0:
                    last_weights[i] = NOTHING
                    continue
                going = True
                given += 1
                last_weights[i], last_owners[i] = list_weights[place], np.int64(owners[place])
                kept = _offer(
                    last_owners[i],
                    starts,
                    rows,
                    weights,
                    ranges,
                    combine,
                    values,
                    uppers,
                    held,
                    stamp,
                    alive,
                    seen,
                    best_scores,
                    best_numbers,
                    kept,
                    counts,
                )
            if kept == len(best_scores) and _is_above(
                best_scores[0], best_numbers[0], combine, is_exact, last_weights, last_owners, size
            ):
                break
        for i in range(size):
            counts[0] += states[i, EXAMINED]
            values[own_fields[first + i]] = uppers[own_fields[first + i]] = -1
        found[event] = LEFT if given > limit else kept
        left += given > limit
        if given <= limit:
            sort_best(best_scores, best_numbers, kept)


@inlined
def _has_ranges(codes: NDArray[np.int32], uppers: NDArray[np.int32], first: int, stop: int) -> bool:
    """Whether an event has a range: what cursors cannot be opened for."""
    for i in range(first, stop):
        if codes[i] != uppers[i]:
            return True
    return False


@inlined
def _offer(
    number: int,
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    weights: NDArray[np.float64],
    ranges: NDArray[np.int32],
    combine: int,
    values: NDArray[np.int32],
    uppers: NDArray[np.int32],
    held: NDArray[np.int32],
    stamp: int,
    alive: NDArray[np.uint64],
    seen: NDArray[np.int32],
    best_scores: NDArray[np.float64],
    best_numbers: NDArray[np.int32],
    kept: int,
    counts: NDArray[np.int64],
) -> int:
    """Score a subscription that comes up for the first time, and keep it if it is among the best; how many are kept."""
    at = np.uint64(number)
    if seen[at] == stamp:
        return kept
    seen[at] = stamp
    if (alive[at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1) == np.uint64(0):
        return kept
    counts[1] += 1
    score = score_of(starts, rows, weights, ranges, combine, values, uppers, held, stamp, number)
    return kept if score == NOTHING else keep(best_scores, best_numbers, kept, score, number)


@inlined
def _is_above(
    worst: float,
    number: int,
    combine: int,
    is_exact: bool,
    last_weights: NDArray[np.float64],
    last_owners: NDArray[np.int64],
    lists: int,
) -> bool:
    """Whether nothing that has not come up can be better than the worst that is kept.

    Weights are added in the order of attributes, as scores are: rounding keeps the order of sums. At a tie what comes
    up later has a higher number, if sums are exact: it would be in every list that counts, behind what came up there.
    """
    threshold = 0.0
    for i in range(lists):
        weight = max(last_weights[i], 0.0)
        threshold = threshold + weight if combine == SUM else max(threshold, weight)
    if threshold != worst:
        return threshold < worst
    if threshold == 0.0 or (combine == SUM and not is_exact):
        return False
    behind = np.int64(-1 if combine == SUM else 2**62)
    for i in range(lists):
        if combine == SUM and last_weights[i] > 0.0:
            behind = max(behind, last_owners[i])
        elif combine != SUM and last_weights[i] == threshold:
            behind = min(behind, last_owners[i])
    return number <= behind


@kernel
def held_dimensions(dimensions: Dimensions, asked: Asked, fields: int, generals: int, event: int) -> NDArray[np.int64]:
    """All dimensions of the living that hold for an event. Cost: linear."""
    starts, rows, weights, ranges = dimensions
    values, uppers = np.full(fields, -1, np.int32), np.full(fields, -1, np.int32)
    held = np.zeros(generals, np.int32)
    for i in range(asked.starts[event], asked.starts[event + 1]):
        values[asked.fields[i]], uppers[asked.fields[i]] = asked.codes[i], asked.uppers[i]
    for i in range(asked.held_starts[event], asked.held_starts[event + 1]):
        held[asked.held[i]] = 1
    out, count = np.empty(len(weights), np.int64), 0
    for number in range(len(starts) - 1):
        if (asked.alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1):
            for d in range(starts[number], starts[number + 1]):
                if holds(rows, ranges, values, uppers, held, 1, d):
                    out[count] = d
                    count += 1
    return out[:count].copy()
