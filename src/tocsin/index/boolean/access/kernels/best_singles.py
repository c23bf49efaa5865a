"""Which are the best subscriptions of one range each that an event satisfies? The cursors of its values, merged.

Cursors know the scores that there were when their index was built. Whoever has another one since is tested by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import EventCodes
from tocsin.index.scored.kernels.cursors import next_place, open_cursor
from tocsin.index.scored.kernels.layouts import Ranges
from tocsin.kernels.jit import kernel, pasted
from tocsin.kernels.packing import viewed

_UNOPENED = np.int64(-1)
_DONE = np.int64(-2)


class Singles(NamedTuple):
    """Subscriptions of one range each, by place: score descending within a field, then number. N of them, S in all."""

    ranges: Ranges
    scores: NDArray[np.float64]  # (N,)
    owners: NDArray[np.int32]  # (N,)
    fields: NDArray[np.int32]  # (N,)


class Places(NamedTuple):
    """Where each of S subscriptions is; -1 where it is not there."""

    singles: NDArray[np.int32]  # (S,) among the singles
    conjunctions: NDArray[np.int32]  # (S,) in the lists of conjunctions


class Changes(NamedTuple):
    """Singles whose scores have changed, on a chain a field, the latest first. D fields, room for N changes.

    What was noted stays; further changes go before it, so that whoever knows of n passes over places from n on.
    """

    heads: NDArray[np.int32]  # (D,) -1 where there are none
    lengths: NDArray[np.int64]  # (D,)
    bests: NDArray[np.float64]  # (D,) the best score of a chain; -inf where there are none
    places: NDArray[np.int32]  # (N,) of each change the place of the single, -1 for what is none
    following: NDArray[np.int32]  # (N,) the change after it on its chain, -1 for none


@kernel
def best_singles(
    structure: Any,
    singles: Singles,
    changes: Changes,
    raised: NDArray[np.float64],
    events: EventCodes,
    k: int,
    alive: NDArray[np.uint64],
    scores: NDArray[np.float64],
    states: NDArray[np.int64],
    ends: NDArray[np.int64],
    floors: NDArray[np.float64],
    out: NDArray[np.int32],
) -> int:
    """Write, for each event, its k best by `scores` among those unchanged, and the changed that may be as good.

    Those changes count that `raised` has the new scores of. `floors` gets the score of the worst of the k, -inf where
    there are fewer. `out` has room for k of each event, and the changes of its fields. Returns how many intervals were
    looked at.
    """
    tree, held, noted, batch = viewed(structure), viewed(singles), viewed(changes), viewed(events)
    starts, known, owners = held.ranges.starts, held.scores, held.owners
    own_starts, own_fields, own_codes = batch.starts, batch.fields, batch.codes
    heads, bests = np.empty(len(states), np.int64), np.empty(len(states), np.float64)
    written, examined = np.int64(0), np.int64(0)
    for event in range(len(ends)):
        first, size = own_starts[event], own_starts[event + 1] - own_starts[event]
        for i in range(size):
            field = own_fields[first + i]
            heads[i] = _UNOPENED if starts[field] < starts[field + 1] else _DONE
            bests[i] = known[starts[field]] if starts[field] < starts[field + 1] else -np.inf
        left, floor = k, -np.inf
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
                open_cursor(tree, np.int64(own_fields[first + chosen]), code, states[chosen])
            else:
                number = owners[heads[chosen]]
                is_alive = (alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)
                if is_alive and scores[number] == bests[chosen]:
                    out[written] = number
                    written += 1
                    left -= 1
                    floor = bests[chosen]
            heads[chosen] = next_place(tree, code, states[chosen])
            examined += 1
            if heads[chosen] < 0:
                heads[chosen] = _DONE
            else:
                bests[chosen] = known[heads[chosen]]
        floors[event] = -np.inf if left > 0 else floor
        for i in range(size):
            written = _take_changed(
                held, noted, raised, floors[event], own_fields[first + i], own_codes[first + i], out, written
            )
        ends[event] = written
    return examined


@pasted
def _take_changed(
    singles: Singles,
    changes: Changes,
    raised: NDArray[np.float64],
    floor: float,
    field: int,
    code: int,
    out: NDArray[np.int32],
    written: int,
) -> int:
    """Append the changed singles of a field that a code stabs and score may reach a floor; the new count."""
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


@pasted
def _comes_first(heads: NDArray[np.int64], owners: NDArray[np.int32], one: int, other: int) -> bool:
    """Of two cursors of one score: one that is not open may have a lower number, and is opened first."""
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
    """Note the changes from `told` on: singles on the chains of their fields, conjunctions in their blocks' maxima."""
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
