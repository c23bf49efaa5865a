"""Of which subscriptions do most dimensions hold? The threshold algorithm over one cursor a dimension.

Fagin, Lotem, Naor 2003, as Machanavajjhala et al. 2008 use it (section 4): cursors are moved in turns; what comes up is
scored as a whole; what has not come up yet cannot score above the threshold, which all cursors' last weights make.
Where the cursors have given so much that looking at all would have been cheaper, all are looked at.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.access_layouts import Fields
from tocsin.kernels.code_sets import scalar_values
from tocsin.kernels.cursors import next_place, open_cursor
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.layouts import Bound, Events
from tocsin.kernels.packing import borrowed
from tocsin.kernels.r_trees import EXAMINED

# How the weights of the dimensions that hold become a score.
SUM: Final = 0
MAX: Final = 1
MIN: Final = 2

NOTHING: Final = -1.0
"""The score of a subscription of which nothing holds: below every weight."""


class Tables(NamedTuple):
    """Subscriptions as dimensions, each a set of codes of a field or *general*, found by a Matcher. D dimensions.

    S subscriptions, F fields, N intervals, R ranges.
    """

    starts: NDArray[np.int64]  # (S + 1,) dimensions [starts[s], starts[s + 1]) are subscription s's
    weights: NDArray[np.float64]  # (D,)
    fields: NDArray[np.int32]  # (D,) a field; of a general dimension -1 - its number among those
    range_starts: NDArray[np.int64]  # (D + 1,)
    lows: NDArray[np.int32]  # (R,)
    highs: NDArray[np.int32]  # (R,)
    ranks: NDArray[np.int32]  # (F,) fields by the name of their attribute
    places: NDArray[np.int64]  # (F + 1,) the intervals of field f are [places[f], places[f + 1])
    scores: NDArray[np.float64]  # (N,) the weight of an interval's dimension, by place
    owners: NDArray[np.int32]  # (N,) the subscription
    generals: NDArray[np.int32]  # (G,) the subscription of each general dimension


class Asked(NamedTuple):
    """What is asked of one call. F fields, G general dimensions, E events."""

    combine: int
    is_exact: bool  # whether sums of weights are never rounded
    most: int  # intervals that cursors may give before all subscriptions are looked at
    dropped: NDArray[np.uint8]  # (F,) 1 for a field that is ignored
    held_starts: NDArray[np.int64]  # (E + 1,)
    held: NDArray[np.int32]  # the general dimensions that hold for each event


class Best(NamedTuple):
    """The best so far: a heap whose first is the worst."""

    scores: NDArray[np.float64]  # (k,)
    numbers: NDArray[np.int32]  # (k,)


@kernel
def best_relaxed(
    structure: Any,
    tables: Tables,
    asked: Asked,
    fields: Fields,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    widest: int,
    first: int,
    stop: int,
    states: NDArray[np.int64],
    best: Best,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Write the best of events [first, stop), best first, and where they end. Adds to `counts`: examined, and scored.

    `widest` is `most_scalar_values`; `states` has a row for so many cursors.
    """
    structure, tables, asked, fields, events, bound, alive, states, best, ends, out, out_scores = borrowed(
        (structure, tables, asked, fields, events, bound, alive, states, best, ends, out, out_scores)
    )
    own_fields, own_codes = np.empty(widest, np.int32), np.empty(widest, np.int32)
    payloads = np.empty(widest, np.int64)
    last_weights, last_owners = np.empty(widest, np.float64), np.empty(widest, np.int64)
    values = np.full(len(fields.kinds), -1, np.int32)
    seen = np.zeros(len(tables.starts), np.int32)
    held = np.zeros(len(tables.generals), np.int32)
    written = np.int64(0)
    for event in range(first, stop):
        stamp = event - first + 1
        found = scalar_values(fields, events, bound, event, own_fields, own_codes, payloads)
        lists = _keep(tables, asked.dropped, own_fields, own_codes, found)
        for i in range(lists):
            values[own_fields[i]] = own_codes[i]
        kept = np.int64(0)
        for i in range(asked.held_starts[event], asked.held_starts[event + 1]):
            held[asked.held[i]] = stamp
        for i in range(asked.held_starts[event], asked.held_starts[event + 1]):
            number = np.int64(tables.generals[asked.held[i]])
            kept = _offer(tables, asked.combine, values, held, stamp, alive, seen, number, best, kept, counts)
        for i in range(lists):
            field = own_fields[i]
            open_cursor(structure, np.int64(field), own_codes[i], states[i])
            begin = tables.places[field]
            last_weights[i] = tables.scores[begin] if begin < tables.places[field + 1] else NOTHING
            last_owners[i] = -1
        given, going = 0, lists > 0
        while going and given < asked.most:
            going = False
            for i in range(lists):
                if last_weights[i] == NOTHING:
                    continue
                place = next_place(structure, own_codes[i], states[i])
                if place < 0:
                    last_weights[i] = NOTHING
                    continue
                going = True
                given += 1
                last_weights[i], last_owners[i] = tables.scores[place], tables.owners[place]
                number = last_owners[i]
                kept = _offer(tables, asked.combine, values, held, stamp, alive, seen, number, best, kept, counts)
            if kept == len(best.scores) and _is_above(best, asked, last_weights, last_owners, lists):
                going = False
        for i in range(lists):
            counts[0] += states[i, EXAMINED]
        if going:
            counts[0] += len(tables.weights)
            for number in range(len(tables.starts) - 1):
                kept = _offer(tables, asked.combine, values, held, stamp, alive, seen, number, best, kept, counts)
        for i in range(lists):
            values[own_fields[i]] = -1
        _write(best, kept, out[written:], out_scores[written:])
        written += kept
        ends[event] = written


@inlined
def _keep(
    tables: Tables, dropped: NDArray[np.uint8], fields: NDArray[np.int32], codes: NDArray[np.int32], found: int
) -> int:
    """Leave out the fields that are dropped, and sort the others by the name of their attribute; returns how many."""
    count = 0
    for i in range(found):
        field, code = fields[i], codes[i]
        if dropped[field]:
            continue
        at = count
        while at > 0 and tables.ranks[fields[at - 1]] > tables.ranks[field]:
            fields[at], codes[at] = fields[at - 1], codes[at - 1]
            at -= 1
        fields[at], codes[at] = field, code
        count += 1
    return count


@inlined
def score_of(
    tables: Tables, combine: int, values: NDArray[np.int32], held: NDArray[np.int32], stamp: int, number: int
) -> float:
    """The score of a subscription; NOTHING where no dimension of it holds."""
    score = NOTHING
    for d in range(np.uint64(tables.starts[number]), np.uint64(tables.starts[number + 1])):
        if not holds(tables, values, held, stamp, d):
            continue
        weight = tables.weights[d]
        if score == NOTHING:
            score = weight
        elif combine == SUM:
            score += weight
        elif combine == MAX:
            score = max(score, weight)
        else:
            score = min(score, weight)
    return score


@inlined
def holds(tables: Tables, values: NDArray[np.int32], held: NDArray[np.int32], stamp: int, dimension: int) -> bool:
    """Whether a dimension holds."""
    d = np.uint64(dimension)
    field = tables.fields[d]
    if field < 0:
        return held[-1 - field] == stamp
    value = values[field]
    for i in range(tables.range_starts[d], tables.range_starts[d + np.uint64(1)]):
        if tables.lows[i] <= value <= tables.highs[i]:
            return True
    return False


@inlined
def _offer(
    tables: Tables,
    combine: int,
    values: NDArray[np.int32],
    held: NDArray[np.int32],
    stamp: int,
    alive: NDArray[np.uint64],
    seen: NDArray[np.int32],
    number: int,
    best: Best,
    kept: int,
    counts: NDArray[np.int64],
) -> int:
    """Score a subscription that has not come up yet, and keep it if it is among the best; how many are kept."""
    at = np.uint64(number)
    if seen[at] == stamp or (alive[at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1) == np.uint64(0):
        return kept
    seen[at] = stamp
    counts[1] += 1
    score = score_of(tables, combine, values, held, stamp, number)
    if score == NOTHING:
        return kept
    if kept < len(best.scores):
        _push(best, kept, score, number)
        return kept + 1
    if _is_worse(best.scores[0], best.numbers[0], score, number):
        _replace_worst(best, kept, score, number)
    return kept


@inlined
def _is_above(
    best: Best, asked: Asked, last_weights: NDArray[np.float64], last_owners: NDArray[np.int64], lists: int
) -> bool:
    """Whether nothing that has not come up can be better than the worst that is kept.

    Weights are added in the order of attributes, as scores are: rounding keeps the order of sums. At a tie what comes
    up later has a higher number, if sums are exact: it would be in every list that counts, behind what came up there.
    """
    threshold = 0.0
    for i in range(lists):
        weight = max(last_weights[i], 0.0)
        threshold = threshold + weight if asked.combine == SUM else max(threshold, weight)
    worst = best.scores[0]
    if threshold != worst:
        return threshold < worst
    if threshold == 0.0 or (asked.combine == SUM and not asked.is_exact):
        return _all_done(last_weights, lists)
    behind = np.int64(-1 if asked.combine == SUM else 2**62)
    for i in range(lists):
        if asked.combine == SUM and last_weights[i] > 0.0:
            behind = max(behind, last_owners[i])
        elif asked.combine != SUM and last_weights[i] == threshold:
            behind = min(behind, last_owners[i])
    return best.numbers[0] <= behind


@inlined
def _all_done(last_weights: NDArray[np.float64], lists: int) -> bool:
    for i in range(lists):
        if last_weights[i] != NOTHING:
            return False
    return True


@inlined
def _is_worse(score: float, number: int, other: float, other_number: int) -> bool:
    return score < other or (score == other and number > other_number)


@inlined
def _push(best: Best, kept: int, score: float, number: int) -> None:
    at = kept
    while at > 0:
        up = (at - 1) >> 1
        if not _is_worse(score, number, best.scores[up], best.numbers[up]):
            break
        best.scores[at], best.numbers[at] = best.scores[up], best.numbers[up]
        at = up
    best.scores[at], best.numbers[at] = score, number


@inlined
def _replace_worst(best: Best, count: int, score: float, number: int) -> None:
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and _is_worse(
            best.scores[child + 1], best.numbers[child + 1], best.scores[child], best.numbers[child]
        ):
            child += 1
        if not _is_worse(best.scores[child], best.numbers[child], score, number):
            break
        best.scores[at], best.numbers[at] = best.scores[child], best.numbers[child]
        at = child
    best.scores[at], best.numbers[at] = score, number


@inlined
def _write(best: Best, kept: int, out: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
    """Take the worst off, one after the other, from the last place on."""
    for left in range(kept - 1, -1, -1):
        out[left], out_scores[left] = best.numbers[0], best.scores[0]
        _replace_worst(best, left, best.scores[left], best.numbers[left])


@kernel
def held_dimensions(
    tables: Tables, asked: Asked, fields: Fields, events: Events, bound: Bound, event: int, alive: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """All dimensions of the living that hold for an event. Cost: linear."""
    room = 1
    for i in range(events.starts[event], events.starts[event + 1]):
        attribute = bound.attributes[events.attributes[i]]
        if attribute >= 0:
            room += fields.starts[attribute + 1] - fields.starts[attribute]
    own_fields, own_codes, payloads = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    found = scalar_values(fields, events, bound, event, own_fields, own_codes, payloads)
    values = np.full(len(fields.kinds), -1, np.int32)
    for i in range(found):
        if not asked.dropped[own_fields[i]]:
            values[own_fields[i]] = own_codes[i]
    held = np.zeros(len(tables.generals), np.int32)
    for i in range(asked.held_starts[event], asked.held_starts[event + 1]):
        held[asked.held[i]] = 1
    out, count = np.empty(len(tables.weights), np.int64), 0
    for number in range(len(tables.starts) - 1):
        if (alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1):
            for d in range(tables.starts[number], tables.starts[number + 1]):
                if holds(tables, values, held, 1, d):
                    out[count] = d
                    count += 1
    return out[:count].copy()
