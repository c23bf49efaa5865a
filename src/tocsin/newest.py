"""The newest value of a file or a folder, read again when it changes. A failed read is tried again."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tocsin.errors import TocsinError

RETRY_S: Final = 1.0
"""A read that failed is tried again after this time, or at once if there is another change."""
Value = TypeVar("Value")


class Failure(NamedTuple):
    """A value that cannot be read: the reason, and since when, by the clock of its `Newest`."""

    reason: str
    since: float


class Newest(Generic[Value]):
    """A call returns the newest value that could be read.

    `look` returns a mark, which differs after a change, and `read` the value. While one of them fails, calls return the
    value before, and try again: at once after a change, and otherwise after `RETRY_S`. `failed` gets each new reason,
    and `recovered` is called when a value is read again. The first read raises its error.

    Changes within `settles_s` of each other may have the same mark, if the clock of the file system is coarse. For this
    time after a new mark, each call reads again. Cost of any other call: `look`. Thread-safe.
    """

    def __init__(
        self,
        look: Callable[[], Any],
        read: Callable[[], Value],
        *,
        failed: Callable[[str], None] = lambda _: None,
        recovered: Callable[[], None] = lambda: None,
        settles_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._read, self._failed, self._recovered = look, read, failed, recovered
        self._settles_s, self._clock, self._lock = settles_s, clock, threading.Lock()
        self.failure: Failure | None = None
        """Why the last value is not the newest; None if it is."""
        self._mark, self._mark_since = look(), clock()  # before reading, so that a later change is read again
        self._value = read()
        self._due = -math.inf if settles_s else math.inf  # when a read is due, even without another change

    def __call__(self) -> Value:
        with self._lock:
            self._follow()
            return self._value

    @property
    def failing_s(self) -> float:
        """How long ago the newest value could first not be read; 0 if it can be."""
        return 0.0 if self.failure is None else self._clock() - self.failure.since

    def _follow(self) -> None:
        now = self._clock()
        try:
            mark = self._look()
            if mark != self._mark:
                self._mark_since = now
            elif now < self._due:
                return
            self._mark, self._due = mark, -math.inf  # whatever interrupts the read: the next call reads
            self._value = self._read()
        except (TocsinError, OSError) as error:
            self._fail(str(error), now)
        else:
            self._due = math.inf if now - self._mark_since >= self._settles_s else -math.inf
            if self.failure is not None:
                self.failure = None
                self._recovered()

    def _fail(self, reason: str, now: float) -> None:
        before, self._due = self.failure, now + RETRY_S
        self.failure = Failure(reason, now if before is None else before.since)
        if before is None or before.reason != reason:
            self._failed(reason)


def mark_of(path: Path) -> tuple[int, int, int] | None:
    """A mark of a file, which differs after a change; None if there is none. Raises `OSError`."""
    try:
        status = os.stat(path)  # half the time of `Path.stat`  # noqa: PTH116
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
