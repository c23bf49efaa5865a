"""Of which subscriptions do most dimensions hold? The threshold algorithm over one cursor a dimension.

Fagin, Lotem, Naor 2003, as Machanavajjhala et al. 2008 use it (section 4): cursors are moved in turns; what comes up is
scored as a whole; what has not come up yet cannot score above the threshold, which all cursors' last weights make.
An event for which the cursors have given more than it would cost to look at all is left to `tiles`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.layouts import SUM, EventFields, Work
from tocsin.index.relaxed.kernels.weighing import NOTHING, enter_event, is_alive, keep, leave_event, score_of, sort_best
from tocsin.index.scored.kernels.cursors import EXAMINED, next_place, open_cursor
from tocsin.kernels.jit import inlined, inner, kernel
from tocsin.kernels.packing import viewed

LEFT: Final = -1
"""How many are found for an event that is left to `tiles`."""

_FIRST: Final = 8
_AGAIN: Final = 64
"""Where cursors, and a look at everything after those that gave up, took longer than that look would have taken for all
events that were tried, no further one is tried; but for one in so many."""


class Cursors(NamedTuple):
    """The cursors of one event, and who has come up. W cursors: as many as an event has fields. S subscriptions."""

    states: NDArray[np.int64]  # (W, width)
    weights: NDArray[np.float64]  # (W,) the last that each gave; NOTHING where there is no more
    owners: NDArray[np.int64]  # (W,) and its subscription; -1 before the first
    seen: NDArray[np.int32]  # (S,) the last event for which each came up, counted from 1


@kernel
def best_by_cursors(structure: Any, work: Work, cursors: Cursors) -> None:
    """Find the best of each event, best first; LEFT for an event that is left."""
    structure, work, cursors = viewed(structure), viewed(work), viewed(cursors)
    found = work.heaps.found
    spent = 0.0  # beyond a look at everything, counted in intervals that are given
    for event in range(len(found)):
        if work.asked.most < 0 or (event > _FIRST and spent > 0.0 and event % _AGAIN) or _has_ranges(work.asked, event):
            found[event] = LEFT
        else:
            enter_event(work, event)
            _open_cursors(structure, work, cursors, event)
            limit = _limit(work, event)
            found[event], took = _search(structure, work, cursors, event, limit)
            leave_event(work, event)
            spent += took - (0.0 if found[event] == LEFT else limit)
            if found[event] != LEFT:
                sort_best(work.heaps, event, found[event])


@inlined
def _has_ranges(asked: EventFields, event: int) -> bool:
    """Whether an event has a range: what cursors cannot be opened for."""
    for i in range(asked.starts[event], asked.starts[event + 1]):
        if asked.codes[i] != asked.uppers[i]:
            return True
    return False


@inlined
def _open_cursors(structure: Any, work: Work, cursors: Cursors, event: int) -> None:
    """One for each of an event's fields."""
    asked, lists = work.asked, work.lists
    first = asked.starts[event]
    for i in range(asked.starts[event + 1] - first):
        field = np.int64(asked.fields[first + i])
        open_cursor(structure, field, asked.codes[first + i], cursors.states[i])
        begin, end = lists.places[field], lists.places[field + 1]
        cursors.weights[i] = lists.weights[begin] if begin < end else NOTHING
        cursors.owners[i] = -1


@inlined
def _limit(work: Work, event: int) -> int:
    """How many intervals cursors may give an event."""
    asked, places = work.asked, work.lists.places
    limit = asked.most
    for i in range(asked.starts[event], asked.starts[event + 1]):
        limit += np.int64(asked.share * (places[asked.fields[i] + 1] - places[asked.fields[i]]))
    return limit


@inlined
def _search(structure: Any, work: Work, cursors: Cursors, event: int, limit: int) -> tuple[int, float]:
    """Move the cursors in turns until nothing better can come up: how many are found, and what it took."""
    asked, lists, heaps = work.asked, work.lists, work.heaps
    first, size = asked.starts[event], asked.starts[event + 1] - asked.starts[event]
    given = asked.held_starts[event + 1] - asked.held_starts[event]
    kept = np.int64(0)
    examined = np.int64(0)
    for i in range(asked.held_starts[event], asked.held_starts[event + 1]):  # they may hold for whom no list has
        kept = _come_up(work, cursors, event, np.int64(lists.generals[asked.held[i]]), kept)
    going = True
    while going and given + asked.passed * examined <= limit:
        going = False
        examined = np.int64(0)
        for i in range(size):
            examined += cursors.states[i, EXAMINED]
            if cursors.weights[i] == NOTHING:
                continue
            place = next_place(structure, asked.codes[first + i], cursors.states[i])
            if place < 0:
                cursors.weights[i] = NOTHING
                continue
            going = True
            given += 1
            number = np.int64(lists.owners[place])
            cursors.weights[i], cursors.owners[i] = lists.weights[place], number
            kept = _come_up(work, cursors, event, number, kept)
        if kept == heaps.scores.shape[1] and _is_above(work, cursors, event):
            going = False
    for i in range(size):
        heaps.counts[0] += cursors.states[i, EXAMINED]
    return (np.int64(LEFT) if going else kept), given + asked.passed * examined


@inner
def _come_up(work: Work, cursors: Cursors, event: int, number: int, kept: int) -> int:
    """Score a subscription that comes up for the first time, and keep it if it is among the best; how many are kept."""
    if cursors.seen[number] == event + 1:
        return kept
    cursors.seen[number] = event + 1
    if not is_alive(work, number):
        return kept
    work.heaps.counts[1] += 1
    score = score_of(work, number)
    return kept if score == NOTHING else keep(work.heaps, event, kept, score, number)


@inlined
def _is_above(work: Work, cursors: Cursors, event: int) -> bool:
    """Whether nothing that has not come up can be better than the worst that is kept.

    Weights are added in the order of attributes, as scores are: rounding keeps the order of sums. At a tie what comes
    up later has a higher number, if sums are exact: it would be in every list that counts, behind what came up there.
    """
    combine, weights, owners = work.asked.combine, cursors.weights, cursors.owners
    count = work.asked.starts[event + 1] - work.asked.starts[event]
    threshold, worst = 0.0, work.heaps.scores[event, 0]
    for i in range(count):
        weight = max(weights[i], 0.0)
        threshold = threshold + weight if combine == SUM else max(threshold, weight)
    if threshold != worst:
        return threshold < worst
    if threshold == 0.0 or (combine == SUM and not work.asked.is_exact):
        return False
    behind = np.int64(-1 if combine == SUM else 2**62)
    for i in range(count):
        if combine == SUM and weights[i] > 0.0:
            behind = max(behind, owners[i])
        elif combine != SUM and weights[i] == threshold:
            behind = min(behind, owners[i])
    return work.heaps.numbers[event, 0] <= behind
