"""A growing R-tree that tracks the tokens below its nodes through insertions, deletions and splits.

A split moves the tokens of everything below the new node from the old node to the new one. That costs O(|s|) for each
subscription, and a node splits once per half a node of insertions. When the root changes, all tokens are placed anew,
because in an R^t++-tree each token then is one level deeper or higher. This happens once for each level of the tree. So
it also costs O(|s|) an insertion, but all at once.

Source: Yu et al. 2015, sections 3.1, 4.1 and 5.1, Updates, which do not mention splits.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from reproduce.r_tree.growing import Box, GrowingRTree
from reproduce.r_tree.kernels import NONE, ROOT
from reproduce.rt_tree.kernels.changing import below, count, link, unlink
from reproduce.rt_tree.kernels.layouts import Chains, CountedTree, ListedTree, Turns
from reproduce.rt_tree.kernels.tables import FREE, Table, copy_living

_FEWEST_SLOTS = 1024

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
        """The tables that messages are matched with."""

    @abstractmethod
    def _enter(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """Add subscriptions to the nodes of an upward path, the first of which is `depth` below the root."""

    @abstractmethod
    def _leave(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """Remove subscriptions from the nodes of an upward path."""

    def insert(self, number: int, box: Box) -> None:
        super().insert(number, box)
        self._renew()

    def delete(self, number: int) -> None:
        super().delete(number)
        self._renew()

    def _put(self, box: NDArray[np.float64], child: int, height: int) -> Numbers:
        root = self._tree.state[ROOT]
        path = super()._put(box, child, height)
        self._is_stale |= bool(self._tree.state[ROOT] != root)
        if self._is_stale:
            return path
        self._come(self._below(child) if height else np.array([child], np.int32), path[:, 0], len(path) - 1)
        for up, (node, other) in enumerate(path.tolist()):
            if other != NONE:
                moved = self._below(other)
                self._leave(moved, np.array([node], np.int32), len(path) - 1 - up)
                self._come(moved, np.array([other], np.int32), len(path) - 1 - up)
        return path

    def _take(self, box: NDArray[np.float64], number: int) -> Numbers:
        path = super()._take(box, number)
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

    def _shorten(self) -> None:
        root = self._tree.state[ROOT]
        super()._shorten()
        self._is_stale |= bool(self._tree.state[ROOT] != root)

    def _renew(self) -> None:
        """If the root has changed, enter all subscriptions anew."""
        if not self._is_stale:
            return
        self._is_stale = False
        self._table = _new_table(len(self._table.keys))
        stack = [[int(self._tree.state[ROOT])]]
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

    def _enter(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        count(self.structure, ones, nodes, 1)

    def _leave(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        count(self.structure, ones, nodes, -1)


class ListedRTree(TrackedRTree):
    """An R^t++-tree."""

    def __init__(self, turns: Turns, least: int, most: int) -> None:
        super().__init__(turns, least, most)
        owners = np.repeat(np.arange(len(turns.firsts), dtype=np.int32), turns.stops - turns.firsts)
        self._chains = Chains(np.zeros(len(owners), np.int32), np.zeros(len(owners), np.int32), owners)

    @property
    def structure(self) -> ListedTree:
        return ListedTree(self._tree, self._turns, self._table, self._chains)

    def _enter(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        link(self.structure, ones, nodes, depth)

    def _leave(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        unlink(self.structure, ones, nodes, depth)


def _new_table(size: int) -> Table:
    return Table(np.zeros(1, np.int64), np.full(size, FREE, np.int64), np.zeros(size, np.int32))
