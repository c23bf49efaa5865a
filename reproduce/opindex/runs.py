"""Many short lists that grow and shrink in a few shared arrays. A full list moves to the end, with more room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tocsin.columns.arrays import frozen

_FIRST_ROOM = 4


class Runs:
    """Runs of rows; a row has a value in each of several columns.

    A run that moves leaves a gap of its former size. At most half of the used space is gaps, and half of the rest spare
    room.
    """

    def __init__(self, *kinds: DTypeLike) -> None:
        self.starts = np.zeros(0, np.int32)
        self.stops = np.zeros(0, np.int32)
        self._rooms = np.zeros(0, np.int32)
        self.columns: list[NDArray[Any]] = [np.zeros(0, kind) for kind in kinds]
        self._used = 0

    def reach(self, count: int) -> None:
        """Ensure that there are `count` runs; new ones are empty."""
        if count > len(self.starts):
            size = max(count, 2 * len(self.starts))
            self.starts, self.stops = grown(self.starts, size), grown(self.stops, size)
            self._rooms = grown(self._rooms, size)

    def slices(self, run: int) -> list[NDArray[Any]]:
        """The rows of a run, as a slice of each column."""
        return [column[self.starts[run] : self.stops[run]] for column in self.columns]

    def insert(self, run: int, place: int, *values: int) -> None:
        """Insert a row before the one at `place`. Cost: linear in the rows after it, sometimes in the whole run."""
        if self.stops[run] - self.starts[run] == self._rooms[run]:
            self._move(run)
        at, stop = int(self.starts[run]) + place, int(self.stops[run])
        for column, value in zip(self.columns, values, strict=True):
            column[at + 1 : stop + 1] = column[at:stop]
            column[at] = value
        self.stops[run] += 1

    def remove(self, run: int, place: int) -> None:
        """Remove a row."""
        at, stop = int(self.starts[run]) + place, int(self.stops[run])
        for column in self.columns:
            column[at : stop - 1] = column[at + 1 : stop]
        self.stops[run] -= 1

    def _move(self, run: int) -> None:
        own = [part.copy() for part in self.slices(run)]
        room = max(2 * int(self._rooms[run]), _FIRST_ROOM)
        if self._used + room > len(self.columns[0]):
            size = max(self._used + room, 2 * len(self.columns[0]))
            self.columns = [grown(column, size) for column in self.columns]
        for column, part in zip(self.columns, own, strict=True):
            column[self._used : self._used + len(part)] = part
        self.starts[run], self.stops[run] = self._used, self._used + len(own[0])
        self._rooms[run] = room
        self._used += room

    def packed(self, runs: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Offsets (R + 1,) and columns of the chosen runs, one after the other."""
        lengths = (self.stops - self.starts)[runs].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.starts[runs] - starts[:-1], lengths) + np.arange(starts[-1])
        return [frozen(starts, np.int32), *(frozen(column[rows], column.dtype) for column in self.columns)]


def grown(array: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    """A longer copy of an array."""
    larger = np.full(size, fill, array.dtype)
    larger[: len(array)] = array
    return larger
