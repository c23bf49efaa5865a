"""An R-tree that rectangles are inserted into and deleted from, the baseline of Wu, Chen and Yu 2004 as they had it."""

from __future__ import annotations

import numpy as np

from reproduce.r_tree.kernels import NONE, USED, Growing, find, free, insert, remove, shorten

Box = tuple[float, float, float, float]
"""Left, lower, right, upper; edges included."""

_HIGHEST = 64
"""No tree is as high: it has at least two children a node."""


class GrowingRTree:
    """Rectangles by number; nodes have `branching` children at most, two fifths of that at least.

    `insert` and `delete` cost O(log n) nodes where little overlaps; `find` O(nodes whose box has the point). Source:
    Guttman 1984, with the quadratic split.
    """

    def __init__(self, branching: int = 16) -> None:
        if branching < 4:
            raise ValueError(f"branching is {branching}; it is 4 at least, or a split leaves a node with one child")
        self._places = branching + 1
        self._fewest = max(2, branching * 2 // 5)
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

    @property
    def tree(self) -> Growing:
        """What it is made of."""
        return self._tree

    def insert(self, number: int, box: Box) -> None:
        """Raises `ValueError` for one that is there."""
        if number in self._boxes:
            raise ValueError(f"rectangle {number} is there already")
        self._make_room()
        insert(self._tree, np.array(box, np.float64), number, 0, self._fewest)
        self._boxes[number] = box

    def delete(self, number: int) -> None:
        """Raises `KeyError` for one that is not there."""
        box = np.array(self._boxes.pop(number), np.float64)
        orphans = np.empty(_HIGHEST, np.int32)
        cut = remove(self._tree, box, number, self._fewest, orphans)
        for node in orphans[:cut].tolist():
            first = node * self._places
            for place in range(first, first + int(self._tree.counts[node])):
                self._make_room()
                tree = self._tree
                insert(tree, tree.boxes[place].copy(), int(tree.children[place]), int(tree.heights[node]), self._fewest)
            free(self._tree, node)
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
