"""The best subscriptions of one range each that an event satisfies, by merging the cursors of its values.

Cursors use the scores that were current when their index was built. Subscriptions with changed scores are tested by
themselves.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import EventCodes
from tocsin.index.scored.kernels.cursors import Ranges, next_place, open_cursor
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed

_UNOPENED = np.int64(-1)
_DONE = np.int64(-2)


class Singles(NamedTuple):
    """Subscriptions of one range each, within a field by score descending, then number.

    N singles, S subscriptions in all.
    """

    ranges: Ranges
    scores: NDArray[np.float64]  # (N,)
    owners: NDArray[np.int32]  # (N,)
    fields: NDArray[np.int32]  # (N,)


class Places(NamedTuple):
    """The position of each of S subscriptions; -1 if it is not in the list."""

    singles: NDArray[np.int32]  # (S,) among the singles
    conjunctions: NDArray[np.int32]  # (S,) in the lists of conjunctions


class Changes(NamedTuple):
    """Singles whose scores have changed, on a chain a field, the latest first. D fields, room for N changes.

    Recorded changes stay; later ones are put before them. A reader that knows only the first n skips positions from n
    on.
    """

    heads: NDArray[np.int32]  # (D,) first change, -1 if there is none
    lengths: NDArray[np.int64]  # (D,)
    bests: NDArray[np.float64]  # (D,) the best score of a chain; -inf if it is empty
    places: NDArray[np.int32]  # (N,) the position of each change's single; -1 if it is not a single
    following: NDArray[np.int32]  # (N,) the next change on its chain, -1 for none


class Choice(NamedTuple):
    """The inputs of the choice of singles, and its outputs for each event. E events, R fields of one event at most."""

    singles: Singles
    changes: Changes
    raised: NDArray[np.float64]  # the new scores of the changes known to the caller
    events: EventCodes
    k: int
    alive: NDArray[np.uint64]
    scores: NDArray[np.float64]  # (S,)
    states: Annotated[NDArray[np.int64], 2]  # (R, .) room for cursors
    heads: NDArray[np.int64]  # (R,) room for the position of each cursor
    bests: NDArray[np.float64]  # (R,) and its score
    ends: NDArray[np.int64]  # (E,) the end of each event's chosen singles
    floors: NDArray[np.float64]  # (E,) the score of the worst of the k, -inf if there are fewer
    chosen: NDArray[np.int32]  # room for k of each event and the changes of its fields


@kernel
def best_singles(structure: Any, choice: Choice) -> int:
    """Write, for each event, its k best by `scores` among unchanged singles, and the changed ones that may be as good.

    Returns how many intervals were examined.
    """
    tree, all_ = viewed(structure), viewed(choice)
    starts, fields, codes = all_.events.starts, all_.events.fields, all_.events.codes
    ends, floors = all_.ends, all_.floors
    written, examined = np.int64(0), np.int64(0)
    for event in range(len(ends)):
        first, size = starts[event], starts[event + 1] - starts[event]
        _close_all(all_, first, size)
        taken, floor, looked_at = _take_best(tree, all_, first, size, written)
        written += taken
        examined += looked_at
        floors[event] = floor if taken == all_.k else -np.inf
        for i in range(first, first + size):
            written = _take_changed(all_, floors[event], fields[i], codes[i], written)
        ends[event] = written
    return examined


@inlined
def _close_all(choice: Choice, first: int, size: int) -> None:
    """Reset the cursors to unopened, with the best score of their field as bound."""
    starts, known, fields = choice.singles.ranges.starts, choice.singles.scores, choice.events.fields
    for i in range(size):
        field = fields[first + i]
        choice.heads[i] = _UNOPENED if starts[field] < starts[field + 1] else _DONE
        choice.bests[i] = known[starts[field]] if starts[field] < starts[field + 1] else -np.inf


@inlined
def _take_best(tree: Any, choice: Choice, first: int, size: int, written: int) -> tuple[int, float, int]:
    """Append the k best unchanged singles. Returns how many, the score of the last, and how many were examined."""
    heads, bests, states, out = choice.heads, choice.bests, choice.states, choice.chosen
    fields, codes = choice.events.fields, choice.events.codes
    known, owners, alive, scores = choice.singles.scores, choice.singles.owners, choice.alive, choice.scores
    taken, floor, examined = np.int64(0), -np.inf, np.int64(0)
    while taken < choice.k:
        next_one = _foremost(heads, bests, owners, size)
        if next_one < 0:
            break
        code = codes[first + next_one]
        if heads[next_one] == _UNOPENED:
            open_cursor(tree, np.int64(fields[first + next_one]), code, states[next_one])
        else:
            number = owners[heads[next_one]]
            is_alive = (alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)
            if is_alive and scores[number] == bests[next_one]:
                out[written + taken] = number
                taken += 1
                floor = bests[next_one]
        place = next_place(tree, code, states[next_one])
        examined += 1
        heads[next_one] = place if place >= 0 else _DONE
        if place >= 0:
            bests[next_one] = known[place]
    return taken, floor, examined


@inlined
def _foremost(heads: NDArray[np.int64], bests: NDArray[np.float64], owners: NDArray[np.int32], size: int) -> int:
    """The cursor that gives the next best, -1 if all are exhausted."""
    chosen = np.int64(-1)
    for i in range(size):
        if heads[i] != _DONE and (
            chosen < 0
            or bests[i] > bests[chosen]
            or (bests[i] == bests[chosen] and _comes_first(heads, owners, i, chosen))
        ):
            chosen = np.int64(i)
    return chosen


@inlined
def _take_changed(choice: Choice, floor: float, field: int, code: int, written: int) -> int:
    """Append a field's changed singles that a code stabs and whose score may reach the floor; returns the new count."""
    singles, changes, raised, out = choice.singles, choice.changes, choice.raised, choice.chosen
    lows, highs, owners = singles.ranges.lows, singles.ranges.highs, singles.owners
    places, following = changes.places, changes.following
    change = changes.heads[field] if changes.bests[field] >= floor else np.int32(-1)
    while change >= 0:
        if change < len(raised) and raised[change] >= floor:
            place = places[change]
            if lows[place] <= code <= highs[place]:
                out[written] = owners[place]
                written += 1
        change = following[change]
    return written


@inlined
def _comes_first(heads: NDArray[np.int64], owners: NDArray[np.int32], one: int, other: int) -> bool:
    """Whether a cursor precedes another of the same score. Unopened ones precede: they may have a lower number."""
    if heads[one] < 0 or heads[other] < 0:
        return heads[one] < 0 and heads[other] >= 0
    return owners[heads[one]] < owners[heads[other]]


@kernel
def note_changes(
    singles: Singles,
    places: Places,
    changes: Changes,
    changed: NDArray[np.int32],
    raised: NDArray[np.float64],
    told: int,
    maxima: NDArray[np.float64],
    block: int,
) -> None:
    """Record the changes from `told` on: singles on their fields' chains, conjunctions in their blocks' maxima."""
    for i in range(told, len(changed)):
        changes.places[i] = place = places.singles[changed[i]]
        if place >= 0:
            field = singles.fields[place]
            changes.following[i] = changes.heads[field]
            changes.lengths[field] += 1
            changes.bests[field] = max(changes.bests[field], raised[i])
            changes.heads[field] = i
        in_list = places.conjunctions[changed[i]]
        if in_list >= 0:
            maxima[in_list >> block] = max(maxima[in_list >> block], raised[i])
