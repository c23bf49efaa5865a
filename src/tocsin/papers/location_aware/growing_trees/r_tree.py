"""An R-tree with insertion and deletion of rectangles, the baseline of Wu, Chen and Yu 2004 in its original form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.papers.location_aware.growing_trees.kernels.r_tree import (
    NONE,
    USED,
    Nodes,
    find,
    find_each,
    free,
    insert,
    remove,
    shorten,
)

Box = tuple[float, float, float, float]
"""Left, lower, right, upper, including edges."""

_HIGHEST = 64
"""More levels than a tree can have, because a node has at least two children."""


class GrowingRTree:
    """Rectangles by number, in one tree or several (`add_tree`).

    Nodes have at most `branching` children, and at least `fewest` or two fifths of that. `insert` and `delete` cost
    O(log n) nodes if few overlap, `find` O(nodes whose box contains the point). Source: Guttman 1984, with the
    quadratic split.
    """

    def __init__(self, branching: int = 16, fewest: int | None = None) -> None:
        if branching < 4:
            raise ValueError(f"branching is {branching}; it is 4 at least, or a split leaves a node with one child")
        self._places = branching + 1
        self._fewest = max(2, branching * 2 // 5) if fewest is None else fewest
        self._boxes: dict[int, tuple[int, Box]] = {}  # of each rectangle its tree and its box
        self._tree = Nodes(
            np.array([0, NONE]),
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            np.empty((0, 4)),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
        )
        self.add_tree()

    def __len__(self) -> int:
        return len(self._boxes)

    def __contains__(self, number: int) -> bool:
        return number in self._boxes

    @property
    def tree(self) -> Nodes:
        """The tree's arrays."""
        return self._tree

    def add_tree(self) -> None:
        """Add an empty tree; trees are numbered from 0, and there is one from the beginning."""
        self._make_room()
        tree = self._tree
        node = int(tree.state[USED])
        tree.counts[node], tree.heights[node], tree.parents[node] = 0, 0, NONE
        self._tree = tree._replace(roots=np.append(tree.roots, node))
        tree.state[USED] += 1

    def insert(self, number: int, box: Box, of: int = 0) -> None:
        """Insert a rectangle into a tree. Raises `ValueError` if its number is in the tree."""
        if number in self._boxes:
            raise ValueError(f"rectangle {number} is there already")
        self._put(of, np.array(box, np.float64), number, 0)
        self._boxes[number] = of, box

    def delete(self, number: int) -> None:
        """Delete a rectangle. Raises `KeyError` if its number is not in the tree."""
        of, box = self._boxes.pop(number)
        path = self._take(of, np.array(box, np.float64), number)
        for node in path[path[:, 1] == 1, 0].tolist():
            first = node * self._places
            for place in range(first, first + int(self._tree.counts[node])):
                tree = self._tree
                self._put(of, tree.boxes[place].copy(), int(tree.children[place]), int(tree.heights[node]))
            free(self._tree, node)
        self._shorten(of)

    def _put(self, of: int, box: NDArray[np.float64], child: int, height: int) -> NDArray[np.int32]:
        """Insert a rectangle or node below a node of some height: (n, 2) the nodes from there up, and their splits."""
        self._make_room()
        path = np.empty((_HIGHEST, 2), np.int32)
        return path[: insert(self._tree, of, box, child, height, self._fewest, path)]

    def _take(self, of: int, box: NDArray[np.float64], number: int) -> NDArray[np.int32]:
        """Remove a rectangle: (n, 2) the nodes from its leaf up, and whether each was removed."""
        path = np.empty((_HIGHEST, 2), np.int32)
        return path[: remove(self._tree, of, box, number, self._fewest, path)]

    def _shorten(self, of: int) -> None:
        """If the root of a tree has a single child that is a node, make that child the root."""
        shorten(self._tree, of)

    def find(self, x: float, y: float) -> list[int]:
        """The rectangles of the first tree that cover a point, ascending."""
        stack, out = np.empty(len(self._tree.counts), np.int32), np.empty(1024, np.int32)
        count = find(self._tree, float(x), float(y), stack, out)
        if count > len(out):
            out = np.empty(count, np.int32)
            find(self._tree, float(x), float(y), stack, out)
        found: list[int] = np.sort(out[:count]).tolist()
        return found

    def searched(self, points: NDArray[np.float64]) -> int:
        """Find the rectangles that cover each of (n, 2) points; returns how many. It is what is timed."""
        stack, out = np.empty(len(self._tree.counts), np.int32), np.empty(max(len(self), 1), np.int32)
        return find_each(self._tree, points, stack, out)

    @property
    def nbytes(self) -> int:
        """The bytes of the nodes in use."""
        return int(sum(part.nbytes for part in self._tree) * self._tree.state[USED] / len(self._tree.counts))

    def _make_room(self) -> None:
        """Make room for a split of every node on a path, and a new root."""
        used, room = int(self._tree.state[USED]), len(self._tree.counts)
        if used + _HIGHEST <= room:
            return
        more = max(room, 2 * _HIGHEST)
        state, roots, children, boxes, counts, parents, heights = self._tree
        own = (np.empty(more, np.int32) for _ in range(3))
        self._tree = Nodes(
            state,
            roots,
            np.concatenate([children, np.empty(more * self._places, np.int32)]),
            np.concatenate([boxes, np.empty((more * self._places, 4))]),
            *(np.concatenate([array, new]) for array, new in zip((counts, parents, heights), own, strict=True)),
        )
