"""An R^t-tree, R^t+-tree or R^t++-tree of an engine's recent subscriptions, which changes in place.

The regions and keywords of new subscriptions are read as for a packed tree. Keywords have numbers in order of arrival,
so a new one changes no other. The words of new subscriptions are counted before they are ordered, and keep their order.

Cost: `insert` and `delete` O(H |s|) for H levels on average (`tracking`); reading, linear in the strings for each call.

Source: Yu et al. 2015, sections 3.1, 4.1, 4.2 and 5.1, Updates. Departs: docs/papers/location_aware.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.joining import subset
from tocsin.columns.expressions.pools import Pools
from tocsin.errors import UnsuitableIndex
from tocsin.index.filtering.index import found_by, verified
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.found import Found
from tocsin.index.recent import InPlace
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Regions, Seen
from tocsin.index.spatial_text.regions import Held
from tocsin.index.statistics import Statistics
from tocsin.index.tables import new_table
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.programs.layouts import Bound
from tocsin.kernels.programs.loading import load, parts_of
from tocsin.papers.location_aware.growing_trees.choosing import Frequencies
from tocsin.papers.location_aware.growing_trees.kernels import finding as finding  # registers how trees are matched
from tocsin.papers.location_aware.growing_trees.kernels.keywords import GrowingRegionTables
from tocsin.papers.location_aware.growing_trees.kernels.layouts import Turns
from tocsin.papers.location_aware.growing_trees.keywords import GrowingKeywords
from tocsin.papers.location_aware.growing_trees.tracking import CountedRTree, ListedRTree, TrackedRTree
from tocsin.papers.location_aware.rt_trees.ordering import IDF, LOCALITY

_FEWEST_CHILDREN: Final = 4
"""A node that grows has room for at least so many children, because a split leaves two in each half."""

_THREADS: Final = threading.local()


def recent_trees(tree: type[TrackedRTree], *, all_words: bool) -> Callable[..., InPlace]:
    """What makes the tree of an engine's recent subscriptions, empty at first.

    With `all_words`, nodes know all words of a subscription; otherwise one, or one for each level.
    """

    def made(
        statistics: Statistics | None = None,
        least: int = 25,
        most: int = 50,
        selection: int = IDF if all_words else LOCALITY,
        finish: int = 0,
    ) -> InPlace:
        children = least, max(most, _FEWEST_CHILDREN)
        one_word = tree is CountedRTree and not all_words
        return InPlace(lambda pools: _RecentTrees(tree, children, selection, one_word))

    return made


class RegionMatcher:
    """How to match subscriptions of regions with keywords at some moment. Threads may share it."""

    def __init__(
        self, compiled: CompiledExpressions, tables: GrowingRegionTables, structure: Any, sizes: dict[str, int]
    ) -> None:
        self._compiled = compiled
        self._tables = tables
        self._structure = structure
        self._sizes = sizes
        self._asks_more: NDArray[np.bool_] | None = None

    def verify(self, asks_more: NDArray[np.bool_]) -> RegionMatcher:
        """Verify the subscriptions that ask for more than a region and keywords."""
        self._asks_more = asks_more if asks_more.any() else None
        return self

    def match(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch among live subscriptions."""
        coming = Coming(batch.arrays, bound, alive, False)
        found = found_by(self._structure, self._tables, coming, self._memory())
        if self._asks_more is None:
            return found
        load(parts_of(self._compiled.arrays.leaf_kinds))
        return verified(self._compiled, self._asks_more, coming, found)

    def _memory(self) -> Seen:
        """This thread's memory, with room for what may come."""
        kept: tuple[dict[str, int], Seen] | None = getattr(_THREADS, "seen", None)
        if kept is None or any(kept[0][name] < size for name, size in self._sizes.items()):
            sizes = {name: 2 * size for name, size in self._sizes.items()}
            kept = _THREADS.seen = sizes, new_table(Seen, **sizes, buckets=BUCKETS)
        return kept[1]


class _RecentTrees:
    """A `Changing`: a tree for each attribute with regions."""

    def __init__(self, tree: type[TrackedRTree], children: tuple[int, int], selection: int, one_word: bool) -> None:
        self._one_word = one_word
        self._selection = selection
        self._keywords = GrowingKeywords()
        self._places: dict[int, int] = {}  # by attribute
        self._rows: Growing[np.int32] = Growing(np.int32)
        self._firsts: Growing[np.int64] = Growing(np.int64)  # by subscription: its first row; and the end
        self._asks_more: Growing[np.bool_] = Growing(np.bool_)
        self._owners: Growing[np.int32] = Growing(np.int32)
        self._boxes: Growing[np.float64] = Growing(np.float64, 4)
        self._starts: Growing[np.int64] = Growing(np.int64)
        self._tokens: Growing[np.int32] = Growing(np.int32)
        self._turns: Growing[np.int32] = Growing(np.int32)
        self._firsts.append(0)
        self._starts.append(0)
        self._frequencies: Frequencies | None = None
        self._tree = tree(self._turns_so_far(), *children)

    def is_outgrown(self, pools: Pools) -> bool:
        """Never: a new tree costs as much as what is new."""
        return False

    def part_from_readers(self) -> None:
        """Copy the trees."""
        self._tree.part_from_readers()

    def read(self, compiled: CompiledExpressions, pools: Pools, first: int) -> None:
        """Read the regions and keywords of expressions. Raises `UnsuitableIndex`. Cost: linear in all strings."""
        held = Held.of(subset(compiled, np.arange(first, len(compiled), dtype=np.int32)))
        if len(held.expressions.attributes) > len(compiled.attributes):
            raise UnsuitableIndex("it is found by a box around a shape, which events are not read for", 0)
        regions, rows = held.regions, len(self._rows)
        owners = held.rows if len(held.rows) else np.arange(len(held.asks_more), dtype=np.int32)
        self._rows.extend(owners + np.int32(first))
        self._firsts.extend(rows + np.searchsorted(owners, np.arange(1, len(held.asks_more) + 1)))
        self._asks_more.extend(held.asks_more)
        places = np.full(len(held.expressions.attributes) + 1, ABSENT, np.int32)
        for attribute in np.flatnonzero(regions.places != ABSENT).tolist():
            places[regions.places[attribute]] = self._place(attribute)
        self._owners.extend(places[regions.owners])  # the last place is that of ABSENT
        self._boxes.extend(regions.boxes)
        self._starts.extend(regions.token_starts[1:] + len(self._tokens))
        numbers = self._keywords.read(held.keywords, compiled, pools.strings.items)
        self._tokens.extend(numbers[regions.tokens])

    def _place(self, attribute: int) -> int:
        """The place of an attribute, each of which but the first needs one more tree."""
        if attribute not in self._places:
            if self._places:
                self._tree.add_tree()
            self._places[attribute] = len(self._places)
        return self._places[attribute]

    def delete(self, numbers: NDArray[np.int64]) -> None:
        """Delete the rows of inserted expressions."""
        rows = self._rows_of(numbers)
        self._tree.delete_many(rows, self._regions(0))
        self._count(rows, -1)

    def insert(self, numbers: NDArray[np.int64]) -> None:
        """Order the words of all that was read, and insert the rows of some expressions."""
        rows, regions = self._rows_of(numbers), self._regions(0)
        if self._frequencies is None:
            self._frequencies = Frequencies(regions, len(self._keywords), self._selection)
        self._frequencies.provide(regions, len(self._keywords))
        self._count(rows, 1)
        before = len(self._turns)
        for row in range(int(np.searchsorted(regions.token_starts, before, "right")) - 1, len(regions.owners)):
            own = regions.tokens[regions.token_starts[row] : regions.token_starts[row + 1]]
            if regions.token_starts[row] >= before:
                self._turns.extend(self._frequencies.ordered(row, own))
        self._tree.provide(self._turns_so_far())
        self._tree.insert_many(rows, regions)

    def _rows_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """The rows of expressions that may hold."""
        firsts = self._firsts.view()
        lengths = firsts[numbers + 1] - firsts[numbers]
        rows = np.repeat(firsts[numbers] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        kept: NDArray[np.int32] = rows[self._owners.view()[rows] != ABSENT].astype(np.int32)
        return kept

    def _count(self, rows: NDArray[np.int32], by: int) -> None:
        assert self._frequencies is not None
        starts, tokens = self._starts.view(), self._tokens.view()
        for row in rows.tolist():
            self._frequencies.add(row, tokens[starts[row] : starts[row + 1]], by)

    def _turns_so_far(self) -> Turns:
        starts = self._starts.view()
        stops = np.minimum(starts[:-1] + 1, starts[1:]) if self._one_word else starts[1:]
        return Turns(frozen(starts[:-1], np.int64), frozen(stops, np.int64), self._turns.view())

    def _regions(self, attributes: int) -> Regions:
        """All rows; `places` are those of so many attributes."""
        places = np.full(attributes, ABSENT, np.int32)
        for attribute, place in self._places.items():
            if attribute < attributes:
                places[attribute] = place
        columns = (self._owners, self._boxes, self._starts, self._tokens)
        return Regions(frozen(places, np.int32), *(column.view() for column in columns))

    def matching(self, compiled: CompiledExpressions, pools: Pools) -> RegionMatcher:
        """How to match with the trees as they are."""
        regions = self._regions(len(compiled.attributes))
        keywords = self._keywords.table(len(compiled.attributes))
        tables = GrowingRegionTables(keywords, regions, self._rows.view())
        rows = len(regions.owners)
        sizes = {
            "tokens": len(self._keywords),
            "places": len(self._places),
            "rows": rows,
            "words": len(compiled) // 64 + 1,
            "counted": rows if isinstance(self._tree, ListedRTree) else 0,
        }
        return RegionMatcher(compiled, tables, self._tree.structure, sizes).verify(self._asks_more.view())
