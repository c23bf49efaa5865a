"""An R-tree whose nodes know tokens of what is below them, whatever comes, goes, and moves as nodes split.

A split moves what is below the new node from the old one's tokens to its own: O(|s|) for each, and a node splits once
in as many insertions as make half of it. Where the root changes all is placed anew: in an R^t++-tree each token then
is one level deeper or higher. That happens once for each level of the tree, so it costs O(|s|) an insertion, too, but
all at once.

Source: Yu et al. 2015, sections 3.1, 4.1 and 5.1, Updates, which say nothing of splits.
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
    """A growing R-tree that keeps something for nodes and tokens. Whose turn is when is told before one is inserted."""

    def __init__(self, turns: Turns, least: int, most: int) -> None:
        super().__init__(most, least)
        self._turns = turns
        self._table = _new_table(_FEWEST_SLOTS)
        self._is_stale = False

    @property
    @abstractmethod
    def structure(self) -> CountedTree | ListedTree:
        """What a message is matched with."""

    @abstractmethod
    def _enter(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """Let subscriptions be known to the nodes of a way up, the first of them `depth` below the root."""

    @abstractmethod
    def _leave(self, ones: Numbers, nodes: Numbers, depth: int) -> None:
        """The contrary."""

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
        """`_enter`, with room."""
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
        """Let all be known anew where the root is another."""
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
        """Have free slots for so many keys, and half of all."""
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
    """An R^t-tree or R^t+-tree, as turns are those of all tokens or of one."""

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
