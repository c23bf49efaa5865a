"""An R-tree that rectangles are inserted into and deleted from, the baseline of Wu, Chen and Yu 2004 as they had it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduce.r_tree.kernels import NONE, USED, Growing, find, free, insert, remove, shorten

Box = tuple[float, float, float, float]
"""Left, lower, right, upper; edges included."""

_HIGHEST = 64
"""No tree is as high: it has at least two children a node."""


class GrowingRTree:
    """Rectangles by number; nodes have `branching` children at most, `fewest` at least, or two fifths.

    `insert` and `delete` cost O(log n) nodes where little overlaps; `find` O(nodes whose box has the point). Source:
    Guttman 1984, with the quadratic split.
    """

    def __init__(self, branching: int = 16, fewest: int | None = None) -> None:
        if branching < 4:
            raise ValueError(f"branching is {branching}; it is 4 at least, or a split leaves a node with one child")
        self._places = branching + 1
        self._fewest = max(2, branching * 2 // 5) if fewest is None else fewest
        self._boxes: dict[int, Box] = {}
        self._tree = Growing(
            np.array([0, 1, NONE]),
            np.empty(0, np.int32),
            np.empty((0, 4)),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
        )
        self._make_room()
        self._tree.counts[0], self._tree.heights[0], self._tree.parents[0] = 0, 0, NONE

    def __len__(self) -> int:
        return len(self._boxes)

    def __contains__(self, number: int) -> bool:
        return number in self._boxes

    @property
    def tree(self) -> Growing:
        """What it is made of."""
        return self._tree

    def insert(self, number: int, box: Box) -> None:
        """Raises `ValueError` for one that is there."""
        if number in self._boxes:
            raise ValueError(f"rectangle {number} is there already")
        self._put(np.array(box, np.float64), number, 0)
        self._boxes[number] = box

    def delete(self, number: int) -> None:
        """Raises `KeyError` for one that is not there."""
        path = self._take(np.array(self._boxes.pop(number), np.float64), number)
        for node in path[path[:, 1] == 1, 0].tolist():
            first = node * self._places
            for place in range(first, first + int(self._tree.counts[node])):
                tree = self._tree
                self._put(tree.boxes[place].copy(), int(tree.children[place]), int(tree.heights[node]))
            free(self._tree, node)
        self._shorten()

    def _put(self, box: NDArray[np.float64], child: int, height: int) -> NDArray[np.int32]:
        """Put a rectangle or a node below one of some height: (n, 2) the nodes from there up, and their splits."""
        self._make_room()
        path = np.empty((_HIGHEST, 2), np.int32)
        return path[: insert(self._tree, box, child, height, self._fewest, path)]

    def _take(self, box: NDArray[np.float64], number: int) -> NDArray[np.int32]:
        """Take a rectangle out: (n, 2) the nodes from its leaf up, and whether each was cut off."""
        path = np.empty((_HIGHEST, 2), np.int32)
        return path[: remove(self._tree, box, number, self._fewest, path)]

    def _shorten(self) -> None:
        """Where the root has one child that is a node, let that be the root."""
        shorten(self._tree)

    def find(self, x: float, y: float) -> list[int]:
        """Those that cover a point, ascending."""
        stack, out = np.empty(len(self._tree.counts), np.int32), np.empty(1024, np.int32)
        count = find(self._tree, float(x), float(y), stack, out)
        if count > len(out):
            out = np.empty(count, np.int32)
            find(self._tree, float(x), float(y), stack, out)
        return np.sort(out[:count]).tolist()

    def _make_room(self) -> None:
        """For a split of every node on one way down, and a new root."""
        used, room = int(self._tree.state[USED]), len(self._tree.counts)
        if used + _HIGHEST <= room:
            return
        more = max(room, 2 * _HIGHEST)
        state, children, boxes, counts, parents, heights = self._tree
        own = (np.empty(more, np.int32) for _ in range(3))
        self._tree = Growing(
            state,
            np.concatenate([children, np.empty(more * self._places, np.int32)]),
            np.concatenate([boxes, np.empty((more * self._places, 4))]),
            *(np.concatenate([array, new]) for array, new in zip((counts, parents, heights), own, strict=True)),
        )
