"""A growing R-tree that tracks the tokens below its nodes through insertions, deletions and splits.

A split moves the tokens of everything below the new node from the old node to the new one. That costs O(|s|) for each
subscription, and a node splits once per half a node of insertions. When the root changes, all tokens are placed anew,
because in an R^t++-tree each token then is one level deeper or higher. This happens once for each level of the tree. So
it also costs O(|s|) an insertion, but all at once.

Source: Yu et al. 2015, sections 3.1, 4.1 and 5.1, Updates, which do not mention splits.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.spatial_text.kernels.layouts import Regions
from tocsin.papers.location_aware.growing_trees.kernels.changing import (
    below,
    delete_many,
    insert_many,
    note_all,
)
from tocsin.papers.location_aware.growing_trees.kernels.layouts import Chains, CountedTree, ListedTree, Turns
from tocsin.papers.location_aware.growing_trees.kernels.r_tree import NONE
from tocsin.papers.location_aware.growing_trees.kernels.tables import FREE, Table, copy_living
from tocsin.papers.location_aware.growing_trees.r_tree import Box, GrowingRTree

_FEWEST_SLOTS = 64

Numbers = NDArray[np.int32]


class TrackedRTree(GrowingRTree):
    """A growing R-tree with data for nodes and tokens. The order of tokens must be set before an insertion."""

    def __init__(self, turns: Turns, least: int, most: int) -> None:
        super().__init__(most, least)
        self._turns = turns
        self._table = _new_table(_FEWEST_SLOTS)
        self._is_stale = False

    @property
    @abstractmethod
    def structure(self) -> CountedTree | ListedTree:
        """The tables that messages are matched with. They stay as they are until the next change."""

    def _enter(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """Add subscriptions to the nodes of an upward path, the first of which is `depth` below the root."""
        note_all(self.structure, ones, nodes, depth, True)

    def _leave(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """Remove subscriptions from the nodes of an upward path."""
        note_all(self.structure, ones, nodes, depth, False)

    def provide(self, turns: Turns) -> None:
        """Let more subscriptions be inserted: their turns, behind those that there were."""
        self._turns = turns

    def insert(self, number: int, box: Box, of: int = 0) -> None:
        super().insert(number, box, of)
        self._renew()

    def delete(self, number: int) -> None:
        super().delete(number)
        self._renew()

    def insert_many(self, numbers: Numbers, regions: Regions) -> None:
        """Insert subscriptions, each into the tree of its region's attribute. None of them is here."""
        done = 0
        while done < len(numbers):
            before, done = done, int(insert_many(self.structure, regions, numbers, done))
            trees, boxes = regions.owners[numbers[before:done]], regions.boxes[numbers[before:done]]
            values = zip(trees.tolist(), map(tuple, boxes.tolist()), strict=True)
            self._boxes.update(zip(numbers[before:done].tolist(), values, strict=True))
            if done < len(numbers):
                number = int(numbers[done])
                left, lower, right, upper = regions.boxes[number].tolist()
                self.insert(number, (left, lower, right, upper), int(regions.owners[number]))
                done += 1

    def delete_many(self, numbers: Numbers, regions: Regions) -> None:
        """Delete inserted subscriptions."""
        done = 0
        while done < len(numbers):
            before, done = done, int(delete_many(self.structure, regions, self._fewest, numbers, done))
            for number in numbers[before:done].tolist():
                del self._boxes[number]
            if done < len(numbers):
                self.delete(int(numbers[done]))
                done += 1

    def part_from_readers(self) -> None:
        """Copy what changes in place."""
        self._tree = _copied(self._tree)
        self._table = _copied(self._table)

    def _put(self, of: int, box: NDArray[np.float64], child: int, height: int) -> Numbers:
        root = self._tree.roots[of]
        path = super()._put(of, box, child, height)
        self._is_stale |= bool(self._tree.roots[of] != root)
        if self._is_stale:
            return path
        self._come(self._below(child) if height else np.array([child], np.int32), path[:, 0], len(path) - 1)
        for up, (node, other) in enumerate(path.tolist()):
            if other != NONE:
                moved = self._below(other)
                self._leave(moved, np.array([node], np.int32), len(path) - 1 - up)
                self._come(moved, np.array([other], np.int32), len(path) - 1 - up)
        return path

    def _take(self, of: int, box: NDArray[np.float64], number: int) -> Numbers:
        path = super()._take(of, box, number)
        nodes = np.ascontiguousarray(path[:, 0])
        self._leave(np.array([number], np.int32), nodes, len(path) - 1)
        for up in np.flatnonzero(path[:, 1]).tolist():
            self._leave(self._below(int(nodes[up])), nodes[up:], len(path) - 1 - up)
        return path

    def _come(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """`_enter`, after making room."""
        lengths = self._turns.stops[ones] - self._turns.firsts[ones]
        self._reach(int(lengths.sum()) * len(nodes))
        self._enter(ones, np.ascontiguousarray(nodes), depth)

    def _below(self, node: int) -> Numbers:
        """The subscriptions below a node."""
        out = np.empty(len(self) + 1, np.int32)
        return out[: below(self._tree, node, out)]

    def _shorten(self, of: int) -> None:
        root = self._tree.roots[of]
        super()._shorten(of)
        self._is_stale |= bool(self._tree.roots[of] != root)

    def _renew(self) -> None:
        """If a root has changed, enter all subscriptions of all trees anew."""
        if not self._is_stale:
            return
        self._is_stale = False
        self._table = _new_table(len(self._table.keys))
        stack = [[root] for root in self._tree.roots.tolist()]
        while stack:
            way = stack.pop()
            first = way[0] * self._places
            children = self._tree.children[first : first + self._tree.counts[way[0]]]
            if self._tree.heights[way[0]]:
                stack += [[child, *way] for child in children.tolist()]
            else:
                self._come(children.copy(), np.array(way, np.int32), len(way) - 1)

    def _reach(self, more: int) -> None:
        """Ensure free slots for `more` keys, with at most half of all slots used."""
        used, size = int(self._table.used[0]), len(self._table.keys)
        if 2 * (used + more) <= size:
            return
        living = int(np.count_nonzero(self._table.values))
        while size < 4 * (living + more):
            size *= 2
        table = _new_table(size)
        copy_living(self._table, table)
        self._table = table


class CountedRTree(TrackedRTree):
    """An R^t-tree or R^t+-tree: turns contain all tokens, or one token of each subscription."""

    @property
    def structure(self) -> CountedTree:
        return CountedTree(self._tree, self._turns, self._table)


class ListedRTree(TrackedRTree):
    """An R^t++-tree."""

    def __init__(self, turns: Turns, least: int, most: int) -> None:
        super().__init__(turns, least, most)
        none = np.empty(0, np.int32)
        self._chains = Chains(none, none, none)
        self.provide(turns)

    def provide(self, turns: Turns) -> None:
        super().provide(turns)
        before, after = len(self._chains.owners), len(turns.tokens)
        room = len(self._chains.nexts)
        if after > room:
            links = [_longer(array, max(after, 2 * room)) for array in self._chains[:2]]
            self._chains = Chains(links[0], links[1], self._chains.owners)
        lengths = np.diff(turns.firsts, append=after)
        first = int(np.searchsorted(turns.firsts, before))
        owners = np.repeat(np.arange(first, len(lengths), dtype=np.int32), lengths[first:])
        self._chains = self._chains._replace(owners=np.concatenate([self._chains.owners, owners]))

    def part_from_readers(self) -> None:
        super().part_from_readers()
        self._chains = Chains(self._chains.nexts.copy(), self._chains.befores.copy(), self._chains.owners)

    @property
    def structure(self) -> ListedTree:
        return ListedTree(self._tree, self._turns, self._table, self._chains)


def _copied(table: Any) -> Any:
    """A table of copies of its arrays."""
    return type(table)(*(array.copy() for array in table))


def _longer(array: Numbers, size: int) -> Numbers:
    larger = np.zeros(size, np.int32)
    larger[: len(array)] = array
    return larger


def _new_table(size: int) -> Table:
    return Table(np.zeros(1, np.int64), np.full(size, FREE, np.int64), np.zeros(size, np.int32))
