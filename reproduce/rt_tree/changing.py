"""The paper's own trees, with insertion and deletion of single subscriptions in place.

Engines pack their trees, and keep later changes in a delta. Here the subscriptions are compiled beforehand, so each has
a region and tokens. The order of its tokens is chosen when it is inserted.

Cost: `insert` and `delete` O(H |s|) for H levels, splits included, on average: see `tracking`. `match` costs the same
as on a packed tree with the same layout.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import DuplicateSubscription, UnknownSubscription, UnsuitableIndex
from tocsin.index.alive import everyone
from tocsin.index.filtering.index import found_by, verified
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.found import Found
from tocsin.index.spatial_text.kernels.layouts import ABSENT
from tocsin.index.spatial_text.regions import Held
from tocsin.papers.location_aware.growing_trees.choosing import Frequencies
from tocsin.papers.location_aware.growing_trees.kernels import finding as finding  # registers how trees are matched
from tocsin.papers.location_aware.growing_trees.kernels.layouts import CountedTree, ListedTree, Turns
from tocsin.papers.location_aware.growing_trees.tracking import CountedRTree, ListedRTree, TrackedRTree
from tocsin.papers.location_aware.rt_trees.ordering import IDF, LOCALITY

TREES: Final = ("rt_tree", "rt_plus_tree", "rt_plus_plus_tree")
LEAST: Final = 25
MOST: Final = 50


class ChangingTree:
    """One of `TREES`, empty at first, for some compiled expressions. Not thread-safe."""

    def __init__(
        self,
        compiled: CompiledExpressions,
        name: str = TREES[-1],
        *,
        least: int = LEAST,
        most: int = MOST,
        selection: int = LOCALITY,
    ) -> None:
        """Raises `UnsuitableIndex` for expressions without a region with keywords, or on several attributes."""
        held = self._held = Held.of(compiled)
        others = np.flatnonzero(held.regions.owners > 0)
        if len(others):
            raise UnsuitableIndex("regions are of several attributes, and this is one tree", int(others[0]))
        self._binder = Binder(held.expressions)
        self._seen = held.new_seen(stamps=True)
        self._frequencies = Frequencies(held.regions, len(held.counts), selection if name != TREES[0] else IDF)
        starts = held.regions.token_starts
        stops = np.minimum(starts[:-1] + 1, starts[1:]) if name == TREES[1] else starts[1:].copy()
        self._turns = Turns(starts[:-1].copy(), stops, held.regions.tokens.copy())
        tree = ListedRTree if name == TREES[2] else CountedRTree
        self._tree: TrackedRTree = tree(self._turns, least, most)

    def __len__(self) -> int:
        """The number of subscriptions held, without those that are never satisfied."""
        return len(self._tree)

    @property
    def structure(self) -> CountedTree | ListedTree:
        """The tree's tables."""
        return self._tree.structure

    def insert(self, number: int) -> None:
        """Insert one of the expressions, by its number. Raises `DuplicateSubscription` if it is held already."""
        regions = self._held.regions
        if regions.owners[number] == ABSENT:
            return
        if number in self._tree:
            raise DuplicateSubscription(f"subscription {number} is there already; delete it first")
        own = slice(regions.token_starts[number], regions.token_starts[number + 1])
        self._turns.tokens[own] = self._frequencies.ordered(number, regions.tokens[own])
        left, lower, right, upper = regions.boxes[number].tolist()
        self._tree.insert(number, (left, lower, right, upper))
        self._frequencies.add(number, regions.tokens[own], 1)

    def delete(self, number: int) -> None:
        """Delete an inserted expression. Raises `UnknownSubscription` if it is not held."""
        regions = self._held.regions
        if regions.owners[number] == ABSENT:
            return
        if number not in self._tree:
            raise UnknownSubscription(f"no subscription {number} is here; {len(self):,} are")
        self._tree.delete(number)
        own = slice(regions.token_starts[number], regions.token_starts[number + 1])
        self._frequencies.add(number, regions.tokens[own], -1)

    def match(self, batch: EventBatch) -> Found:
        """All matches of a batch among those held."""
        held, bound = self._held, self._binder.bind_to_walk(batch)
        coming = Coming(batch.arrays, bound, frozen(everyone(len(held.expressions)), np.uint64), False)
        found = found_by(self.structure, held.tables, coming, self._seen)
        return verified(held.expressions, held.asks_more, coming, found)
