"""The k best matches without finding all: singles in order of score, and lists bounded by the best score of a block.

Lists of singles give every subscription that an event satisfies. If lists are long and only the k best are wanted, the
cursors of a SOPT-R-tree give just these, and with them a floor. A conjunction needs at least that score to be among
the best. Blocks of conjunctions know their best score.

All this is built when the best are first asked for, from base scores that stay fixed. A subscription whose score has
changed since is tested by itself. When many have changed, the caller passes another base and all is built again.
"""

from __future__ import annotations

import threading
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.forking import awaited
from tocsin.index.boolean.access.kernels import best_singles as kernels
from tocsin.index.boolean.access.kernels.layouts import Lists
from tocsin.index.boolean.access.kernels.lists import BLOCK
from tocsin.index.fields.kernels.code_sets import EventCodes, read_codes
from tocsin.index.protocols import ALL_THEN_RANKED, Best
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.sopt_r_tree import sopt_r_trees
from tocsin.index.scored.tree import ScoredTree, TreeBuilder
from tocsin.kernels.answers.scores import block_maxima
from tocsin.kernels.programs.layouts import Bound

CURSORS_FROM: Final = 1024
"""The length of the average single's list. An event is likely to satisfy many singles of a long list."""

_NOTHING: Final = frozen(np.empty(0), np.float64)


class Chosen(NamedTuple):
    """The singles of each event that may be among its best, and the floor for conjunctions. E events, M singles."""

    starts: NDArray[np.int64]  # (E + 1,)
    subscriptions: NDArray[np.int32]  # (M,)
    floors: NDArray[np.float64]  # (E,) a lower score is not among the best; -inf if unknown
    list_maxima: NDArray[np.float64]  # the best score of each block of the lists of conjunctions
    examined: int


def mean_length(lists: Lists) -> float:
    """The length of the average single's list. An event is likely to satisfy many singles of a long list."""
    lengths = np.diff(lists.single_runs.starts).astype(float)
    return float((lengths**2).sum() / max(lengths.sum(), 1.0))


def describe_order(lists: Lists, cursors_from: int) -> str:
    """How the best are found, and why, in words for the user."""
    if not len(lists.singles.owners):
        return f"{ALL_THEN_RANKED}: no subscription consists of one range"
    length = f"lists of subscriptions with one range have {mean_length(lists):,.1f} entries on average"
    if mean_length(lists) >= cursors_from:
        return (
            f"subscriptions with one range by descending score (SOPT-R-tree), then others that can beat them: {length}"
        )
    return f"{ALL_THEN_RANKED}: {length}, and a search by score pays from {cursors_from:,} on"


class BestFirst:
    """Singles in order of their base scores, and the changes since. Threads may share it."""

    def __init__(self, lists: Lists, subscriptions: int, base: NDArray[np.float64]) -> None:
        self.base = base
        self._fields = lists.fields
        lengths = np.diff(lists.single_runs.starts)
        owners = lists.singles.owners
        intervals = ScoredIntervals.of(
            np.repeat(np.arange(len(lengths)), lengths).astype(np.int32),
            lists.singles.lows,
            lists.singles.highs,
            base[owners],
            owners,
            2 * np.diff(lists.fields.operand_starts),
        )
        self._tree: ScoredTree = TreeBuilder(sopt_r_trees).build(intervals)
        fields = np.repeat(np.arange(len(lengths)), np.diff(intervals.ranges.starts))
        self._singles = kernels.Singles(intervals.ranges, intervals.scores, intervals.owners, frozen(fields, np.int32))
        count = len(lists.fields.kinds)
        self._kept = frozen(np.zeros(count), np.uint8)
        self._order = frozen(np.arange(count), np.int32)
        conjunctions = lists.conjunctions.owners
        self._places = kernels.Places(_places(intervals.owners, subscriptions), _places(conjunctions, subscriptions))
        self._list_maxima = block_maxima(frozen(base[conjunctions], np.float64), int(BLOCK))
        self._changes = _no_changes(count)
        self._told = 0
        self._lock = awaited(threading.Lock())

    def choose(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64], best: Best) -> Chosen:
        """For each event: its k best among singles with unchanged scores, and all changed ones that may be better."""
        changes = self._changed(best)
        events = read_codes(self._fields, batch.arrays, bound, self._kept, self._order)
        count, widest = len(batch), int(np.diff(events.starts).max(initial=0))
        states = np.empty((widest, len(self._tree.new_state())), np.int64)
        ends, floors = np.zeros(count + 1, np.int64), np.empty(count)
        out = np.empty(self._room(events, best.k, changes), np.int32)
        raised = _NOTHING if best.raised is None else best.raised
        room = states, np.empty(widest, np.int64), np.empty(widest), ends[1:], floors, out
        about = self._singles, changes, raised, events, best.k, alive, best.scores
        examined = kernels.best_singles(self._tree.structure, kernels.Choice(*about, *room))
        return Chosen(ends, out[: ends[-1]], floors, self._list_maxima, int(examined))

    def _room(self, events: EventCodes, k: int, changes: kernels.Changes) -> int:
        """The most singles that can be chosen: k of each event or all of its fields', plus these fields' changes."""
        fields = events.fields[: events.starts[-1]]
        before = np.concatenate([[0], np.cumsum(np.diff(self._singles.ranges.starts)[fields])])
        own = before[events.starts[1:]] - before[events.starts[:-1]]
        return int(np.minimum(own, k).sum() + changes.lengths[fields].sum())

    def _changed(self, best: Best) -> kernels.Changes:
        """The changes since the base scores, perhaps including some that `best` does not know of yet.

        Changes that any call reported are recorded already: on chains, latest first, and in maxima that only rise.
        """
        if best.changed is None or best.raised is None:
            return self._changes
        with self._lock:
            count = len(best.changed)
            if count > len(self._changes.places):
                self._changes = _larger(self._changes, 2 * count)
            if count > self._told:
                about = self._singles, self._places, self._changes
                kernels.note_changes(*about, best.changed, best.raised, self._told, self._list_maxima, int(BLOCK))
                self._told = count
            return self._changes


def _places(owners: NDArray[np.int32], subscriptions: int) -> NDArray[np.int32]:
    """The position of each subscription in a list; -1 if it is not in it."""
    places = np.full(subscriptions, -1, np.int32)
    places[owners] = np.arange(len(owners))
    return frozen(places, np.int32)


def _no_changes(fields: int) -> kernels.Changes:
    none = np.empty(0, np.int32)
    return kernels.Changes(
        np.full(fields, -1, np.int32), np.zeros(fields, np.int64), np.full(fields, -np.inf), none, none
    )


def _larger(changes: kernels.Changes, room: int) -> kernels.Changes:
    """A copy of the changes with more room; other threads may be reading the old one."""
    places, following = np.empty(room, np.int32), np.empty(room, np.int32)
    places[: len(changes.places)] = changes.places
    following[: len(changes.following)] = changes.following
    heads, lengths, bests, *_ = changes
    return kernels.Changes(heads.copy(), lengths.copy(), bests.copy(), places, following)
