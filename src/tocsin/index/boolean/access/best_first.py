"""How are the best of many singles found without finding them all? In order of score, by a scored interval index.

Lists of singles give every subscription that an event satisfies. Where lists are long and only the best k are wanted,
cursors of a SOPT-R-tree give these alone. It is built when the best are first asked for, from scores that stay as they
are; whoever has another one since is tested by itself, and when these are many there are other scores to start from.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.batch import EventBatch
from tocsin.index.protocols import Best
from tocsin.index.ranked.intervals import ScoredIntervals
from tocsin.index.ranked.sopt_r_tree import sopt_r_trees
from tocsin.index.ranked.tree import ScoredTree, TreeBuilder
from tocsin.kernels import best_singles as kernels
from tocsin.kernels.access_layouts import Lists
from tocsin.kernels.code_sets import read_codes
from tocsin.kernels.layouts import Bound

LONG: Final = 1024
"""Singles of the list that an average one is in, from which on cursors pay."""


class Chosen(NamedTuple):
    """The singles of each event that may be among its best. E events, M singles."""

    starts: NDArray[np.int64]  # (E + 1,)
    subscriptions: NDArray[np.int32]  # (M,)
    examined: int


def pays(lists: Lists) -> bool:
    """Whether lists of singles are so long that an event is not likely to satisfy few of them."""
    lengths = np.diff(lists.single_runs.starts).astype(float)
    return bool((lengths**2).sum() > LONG * lengths.sum())


class BestFirst:
    """Singles in order of the scores that they had at first. Immutable."""

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
        places = np.full(subscriptions, -1, np.int32)
        places[intervals.owners] = np.arange(len(intervals))
        fields = np.repeat(np.arange(len(lengths)), np.diff(intervals.ranges.starts))
        self._singles = kernels.Singles(
            intervals.ranges, intervals.scores, intervals.owners, frozen(fields, np.int32), frozen(places, np.int32)
        )
        count = len(lists.fields.kinds)
        self._kept = frozen(np.zeros(count), np.uint8)
        self._order = frozen(np.arange(count), np.int32)

    def choose(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64], best: Best) -> Chosen:
        """For each event its k best among those whose scores are what they were, and all others that it satisfies."""
        changed = np.empty(0, np.int32) if best.changed is None else best.changed
        events = read_codes(self._fields, batch.arrays, bound, self._kept, self._order)
        count, widest = len(batch), int(np.diff(events.starts).max(initial=0))
        states = np.empty((widest, len(self._tree.new_state())), np.int64)
        ends = np.zeros(count + 1, np.int64)
        out = np.empty(count * (best.k + len(changed)), np.int32)
        examined = kernels.best_singles(
            self._tree.structure,
            self._singles,
            events,
            best.k,
            alive,
            best.scores,
            changed,
            states,
            ends[1:],
            out,
        )
        return Chosen(ends, out[: ends[-1]], int(examined))
