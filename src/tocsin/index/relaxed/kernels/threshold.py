"""The threshold algorithm for relaxed rankings, over one cursor for each field of an event.

As in Fagin, Lotem, Naor 2003, used by Machanavajjhala et al. 2008 (section 4). Cursors move in turns. A subscription
that comes up is scored as a whole. One that has not come up cannot exceed the threshold, which is combined from all
cursors' last weights. If the cursors return more for an event than a scan would cost, the event is left to `tiles`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.layouts import SUM, EventFields, Work
from tocsin.index.relaxed.kernels.weighing import NOTHING, enter_event, is_alive, keep, leave_event, score_of, sort_best
from tocsin.index.scored.kernels.cursors import EXAMINED, next_place, open_cursor
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed

LEFT: Final = -1
"""The number found for an event that is left to `tiles`."""

_MARKS: Final = 255
"""Events have the marks 1 to 255 in turn. A mark takes a byte, where an event's number would take four."""
_FIRST: Final = 8
_AGAIN: Final = 64
"""If cursors, plus scans for events they left, took longer than scans alone, only every 64th further event is tried."""


class Cursors(NamedTuple):
    """The cursors of one event, and which subscriptions have come up. W cursors, one a field; S subscriptions."""

    states: NDArray[np.int64]  # (W, width)
    weights: NDArray[np.float64]  # (W,) the last weight of each; NOTHING at its end
    owners: NDArray[np.int64]  # (W,) the last subscription of each; -1 before the first
    seen: NDArray[np.uint8]  # (S,) the mark of the last event for which each came up; 0 for none


@kernel
def best_by_cursors(structure: Any, work: Work, cursors: Cursors) -> None:
    """Find the best of each event, best first; LEFT for an event that is left."""
    structure, work, cursors = viewed(structure), viewed(work), viewed(cursors)
    found = work.heaps.found
    spent = 0.0  # time beyond a scan's, counted in returned intervals
    for event in range(len(found)):
        if event and event % _MARKS == 0:
            cursors.seen[:] = 0
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
    """Whether an event has a range: cursors cannot be opened for one."""
    for i in range(asked.starts[event], asked.starts[event + 1]):
        if asked.codes[i] != asked.uppers[i]:
            return True
    return False


@inlined
def _open_cursors(structure: Any, work: Work, cursors: Cursors, event: int) -> None:
    """Open a cursor for each of an event's fields."""
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
    """How many intervals cursors may return for an event."""
    asked, places = work.asked, work.lists.places
    limit = asked.most
    for i in range(asked.starts[event], asked.starts[event + 1]):
        limit += np.int64(asked.share * (places[asked.fields[i] + 1] - places[asked.fields[i]]))
    return limit


@inlined
def _search(structure: Any, work: Work, cursors: Cursors, event: int, limit: int) -> tuple[int, float]:
    """Move the cursors in turns until nothing better can come up; returns how many are found, and the cost."""
    asked, lists, heaps = work.asked, work.lists, work.heaps
    first, size = asked.starts[event], asked.starts[event + 1] - asked.starts[event]
    given = asked.held_starts[event + 1] - asked.held_starts[event]
    kept = np.int64(0)
    examined = np.int64(0)
    for i in range(asked.held_starts[event], asked.held_starts[event + 1]):  # their subscriptions may be in no list
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
    """Score a subscription that comes up for the first time, and keep it if it is among the best.

    Returns how many are kept.
    """
    mark = np.uint8(event % _MARKS + 1)
    if cursors.seen[number] == mark:
        return kept
    cursors.seen[number] = mark
    if not is_alive(work, number):
        return kept
    work.heaps.counts[1] += 1
    score = score_of(work, number)
    return kept if score == NOTHING else keep(work.heaps, event, kept, score, number)


@inlined
def _is_above(work: Work, cursors: Cursors, event: int) -> bool:
    """Whether no subscription that has not come up can be better than the worst that is kept.

    Weights are added in the order of attributes, as in scores, so that rounding keeps the order of sums. If sums are
    exact, a later subscription with the same score has a higher number: it would be in every list that counts, behind
    the one that came up there.
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
