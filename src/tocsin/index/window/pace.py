"""When is a structure built anew? When many came since, and as a window fills, for thresholds rise then."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import UnknownIndex
from tocsin.index.tables import bytes_of_table
from tocsin.index.window.growing import put_behind_all

LATE: Final = 2048
_LATE_SHARE: Final = 32
FIRST: Final = 1024
_TIMES: Final = 4


class Pace:
    """After `late` more subscriptions, and a 32nd of all; after `first` messages, then four times as many."""

    def __init__(self, late: int, first: int) -> None:
        if late < 0 or first < 1:
            raise UnknownIndex(f"late={late}, first={first}: late is a number from 0 on, first one from 1 on")
        self.late = 0
        self._most, self._first = late, first
        self._next = first

    def is_due(self, living: int, taken: int) -> bool:
        """Whether it is time, with so many subscriptions, and messages since the beginning."""
        return self.late > max(self._most, living // _LATE_SHARE) or (taken >= self._next and living > 0)

    def begin_anew(self, taken: int) -> None:
        """Note that a structure was built."""
        self.late, self._next = 0, max(_TIMES * taken, self._first)


class BuiltAnew:
    """A Disseminator but for its words, its messages and `build`: what came since that lies behind, in `table.late`.

    `diagonal` is the longest distance.
    """

    table: Any

    def __init__(self, diagonal: float, late: int, first: int) -> None:
        self._diagonal, self._pace = diagonal, Pace(late, first)

    def add(
        self, slots: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32], interests: Any
    ) -> None:
        self._pace.late += len(slots)
        self.table = self.table._replace(late=put_behind_all(self.table.late, slots, starts, words))

    def is_due(self, living: int, taken: int) -> bool:
        return self._pace.is_due(living, taken)

    def bytes(self) -> int:
        return bytes_of_table(self.table)
