"""When to rebuild a structure: after many new subscriptions, and while a window fills, because thresholds then rise."""

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
    """The pace of rebuilds, by new subscriptions and by messages.

    A rebuild is due when more than `late` subscriptions and more than a 32nd of all are new. It is also due after
    `first` messages, and then whenever their number has grown fourfold.
    """

    def __init__(self, late: int, first: int) -> None:
        if late < 0 or first < 1:
            raise UnknownIndex(f"late={late}, first={first}: late is a number from 0 on, first one from 1 on")
        self.late = 0
        self._most, self._first = late, first
        self._next = first

    def is_due(self, living: int, taken: int) -> bool:
        """Whether a rebuild is due, given the numbers of live subscriptions and of messages since the start."""
        return self.late > max(self._most, living // _LATE_SHARE) or (taken >= self._next and living > 0)

    def begin_anew(self, taken: int) -> None:
        """Record that a structure was built."""
        self.late, self._next = 0, max(_TIMES * taken, self._first)


class BuiltAnew:
    """A Disseminator without its words, its messages and `build`. New subscriptions wait in `table.late` for a rebuild.

    `diagonal` is the longest distance.
    """

    table: Any

    def __init__(self, diagonal: float, late: int, first: int) -> None:
        self._diagonal, self._pace = diagonal, Pace(late, first)

    def add(
        self, slots: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32], interests: Any
    ) -> None:
        late = put_behind_all(self.table.late, slots, starts, words)
        self.table, self._pace.late = self.table._replace(late=late), self._pace.late + len(slots)

    def is_due(self, living: int, taken: int) -> bool:
        return self._pace.is_due(living, taken)

    def bytes(self) -> int:
        return bytes_of_table(self.table)
