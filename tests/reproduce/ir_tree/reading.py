"""A changing IR-tree read back in Python, by the legend of its layout alone, and what must hold of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reproduce.ir_tree.kernels.layouts import FREE_BLOCKS, LEVEL_BITS, SMALLEST, USED

from reproduce.ir_tree import ChangingIRTree
from tests.naive.intervals import Interval


class Entry(NamedTuple):
    """One of a node: the extent and the bound of what is below, and the place or the node below."""

    low: int
    high: int
    bound: tuple[int, int]  # key and owner
    below: int


class Node(NamedTuple):
    """A node, and what the entry that leads to it (of a root, its header) says of it."""

    told: Entry
    level: int
    entries: list[Entry]
    below: list[Node]  # of a leaf none
    is_root: bool
    row: int  # where its block begins

    def all_nodes(self) -> Iterator[Node]:
        yield self
        for one in self.below:
            yield from one.all_nodes()

    def leaf_entries(self) -> Iterator[Entry]:
        """From the left."""
        if not self.below:
            yield from self.entries
        for one in self.below:
            yield from one.leaf_entries()


def insert_all(tree: ChangingIRTree, intervals: Sequence[Interval]) -> None:
    """In one call."""
    tree.insert_many(*(list(column) for column in zip(*intervals, strict=True)))


def lists_of(tree: ChangingIRTree) -> dict[tuple[int, int], Node]:
    """The root of each list by its group and code."""
    trees = tree.structure
    rows, keys = trees.entries.reshape(-1, 4).tolist(), trees.keys.tolist()

    def entry(row: int) -> Entry:
        low, high, owner, link = rows[row]
        return Entry(low, high, (keys[row], owner), link)

    def node(row: int, told: Entry, is_root: bool) -> Node:
        count, level = rows[row][3] >> LEVEL_BITS, rows[row][3] % (1 << LEVEL_BITS)
        own = [entry(row + 1 + i) for i in range(count)]
        below = [node(one.below, one, False) for one in own] if level else []
        return Node(told, level, own, below, is_root, row)

    found = {}
    for group, (start, stop) in enumerate(zip(trees.starts, trees.starts[1:], strict=False)):
        for code, root in enumerate(trees.roots[start:stop].tolist()):
            if root >= 0:
                found[group, code] = node(root, entry(root), True)
    return found


def check_structure(tree: ChangingIRTree, held: Sequence[Interval], branching: int) -> None:
    """Lists by their common code, in order; extents that are exact and without holes; nodes' fill; every place once."""
    lists = lists_of(tree)
    seen: list[tuple[int, int, int, float, int]] = []
    for (group, code), root in lists.items():
        entries = list(root.leaf_entries())
        assert [one.bound for one in entries] == sorted(one.bound for one in entries)
        assert all(one.low <= code <= one.high for one in entries)
        seen += [(group, one.low, one.high, float(tree.scores[one.below]), one.bound[1]) for one in entries]
        assert [int(tree.owners[one.below]) for one in entries] == [one.bound[1] for one in entries]
        for node in root.all_nodes():
            check_node(node, branching)
    assert sorted(seen) == sorted(tuple(one) for one in held)
    assert len({one.below for root in lists.values() for one in root.leaf_entries()}) == len(tree) == len(held)
    check_blocks(tree, lists.values(), branching)


def check_blocks(tree: ChangingIRTree, roots: Iterable[Node], branching: int) -> None:
    """Every row that was ever taken is in one block, of a node or free."""
    trees = tree.structure
    blocks = []
    for root in roots:
        for node in root.all_nodes():
            alone = node.is_root and not node.level
            blocks.append((node.row, room_for(len(node.entries), branching) if alone else branching))
    for size, first in enumerate(trees.state[FREE_BLOCKS:].tolist()):
        while first >= 0:
            blocks.append((first, min(SMALLEST << size, branching)))
            first = int(trees.entries[4 * first + 3])
    reached = 0
    for row, room in sorted(blocks):
        assert row == reached
        reached += 1 + room
    assert reached == trees.state[USED] <= len(trees.keys)


def room_for(count: int, branching: int) -> int:
    """Entries of the smallest block that so many fit in."""
    room = SMALLEST
    while room < count:
        room *= 2
    return min(room, branching)


def check_node(node: Node, branching: int) -> None:
    """Section 3.1 of one node: its extent, Lemma 3.1, its bound, how many entries it has, and the level of those."""
    held = list(node.leaf_entries())
    assert (node.told.low, node.told.high) == (min(one.low for one in held), max(one.high for one in held))
    assert holes(held) == []
    assert all(node.told.bound <= one.bound for one in held)
    for one, following in zip(node.below, node.below[1:], strict=False):
        assert all(each.bound < following.told.bound for each in one.leaf_entries())
    least = 1 if node.is_root and not node.level else 2 if node.is_root else max(2, branching // 3)
    assert least <= len(node.entries) <= branching
    assert all(one.level == node.level - 1 for one in node.below)


def holes(entries: list[Entry]) -> list[tuple[int, int]]:
    """The codes between the least and the greatest that no entry holds, as ranges."""
    found, reached = [], min(one.low for one in entries)
    for one in sorted(entries):
        if one.low > reached + 1:
            found.append((reached + 1, one.low - 1))
        reached = max(reached, one.high)
    return found
