"""The paper's own index: closed rectangles of integers on a map, inserted and deleted one at a time.

An engine's `vcr` is built over the order of the operands. Later changes are in the engine's delta.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.vcr.kernels import Linked, covering, covering_each, link, unlink
from tocsin.papers.vcr.vcr.kernels import decompose, distance_table

Rectangle = tuple[int, int, int, int]
"""Left, lower, width and height: its points are [left, left + width] x [lower, lower + height]."""


class ChangingVCR:
    """Rectangles on a map of points 0 to `width`, 0 to `height`. The largest VCR has sides of 2 ** kx and 2 ** ky.

    `insert` costs O(VCRs of the rectangle), `delete` half of their lists, `find` O(Lx Ly) lists (sections 2.2 to 2.4).
    """

    def __init__(self, width: int, height: int, kx: int, ky: int, *, overlapped: bool = False) -> None:
        self._kx, self._ky, self._overlapped = kx, ky, overlapped
        self._margin = 1 << kx, 1 << ky  # on the left and below
        self._width = width + 1 + self._margin[0]
        self._distances = distance_table(kx, ky, self._width, True)
        count = (kx + 1) * (ky + 1) * self._width * (height + 1 + self._margin[1])
        self._lists = Linked(np.full(count + 1, -1), np.empty(0, np.int64), np.empty(0, np.int32))
        self._pieces: dict[int, NDArray[np.int64]] = {}
        self._used = 0

    def __len__(self) -> int:
        return len(self._pieces)

    def insert(self, owner: int, rectangle: Rectangle) -> None:
        """Raises `ValueError` if it is there already, or has no area: the paper's sides are at least 1."""
        left, lower, width, height = rectangle
        if owner in self._pieces or min(width, height) < 1:
            raise ValueError(f"rectangle {owner} {rectangle} is there already, or has no area")
        pieces = np.empty((0, 4), np.int64)
        at = left + self._margin[0], lower + self._margin[1], width, height
        for _ in range(2):  # first count, then write
            count = decompose(self._kx, self._ky, *at, self._overlapped, pieces)
            pieces = pieces if len(pieces) else np.empty((count, 4), np.int64)
        numbers = np.ascontiguousarray(self._number(*pieces.T))
        self._make_room(count)
        link(self._lists, numbers, owner)
        self._pieces[owner] = numbers

    def delete(self, owner: int) -> None:
        """Raises `KeyError` if it is not there."""
        numbers = self._pieces.pop(owner)
        unlink(self._lists, numbers, owner)
        self._used -= len(numbers)

    def find(self, x: int, y: int) -> list[int]:
        """The rectangles that cover a point, ascending. A point on an inner edge is on the lists of both sides."""
        pivot = int(self._number(x, y, 0, 0))  # of (x - Lx, y - Ly), with the margin
        out = np.empty(1024, np.int32)
        count = covering(self._lists, pivot, self._distances, out)
        if count > len(out):
            out = np.empty(count, np.int32)
            covering(self._lists, pivot, self._distances, out)
        return np.unique(out[:count]).tolist()

    def searched(self, points: NDArray[np.int64]) -> int:
        """Read the lists that cover each of (n, 2) points; returns how many entries they have. It is what is timed."""
        pivots = np.ascontiguousarray(self._number(points[:, 0], points[:, 1], 0, 0))
        return covering_each(self._lists, pivots, self._distances, np.empty(max(self._used, 1), np.int32))

    @property
    def nbytes(self) -> int:
        """The bytes of the lists."""
        return sum(part.nbytes for part in self._lists)

    def _number(self, x: Any, y: Any, i: Any, j: Any) -> Any:
        """The number of a VCR, by equation 1."""
        return (self._kx + 1) * (self._ky + 1) * (x + y * self._width) + j * (self._kx + 1) + i

    def _make_room(self, count: int) -> None:
        """Ensure `count` free entries."""
        heads, nexts, owners = self._lists
        self._used += count
        if self._used <= len(nexts):
            return
        more = np.arange(len(nexts), max(2 * len(nexts), self._used + 1024))
        chain = np.append(more[1:], heads[-1])
        heads[-1] = more[0]
        self._lists = Linked(
            heads, np.concatenate([nexts, chain]), np.concatenate([owners, np.empty(len(more), np.int32)])
        )
