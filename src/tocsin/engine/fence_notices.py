"""Warnings of fences: events without information, late events, and times that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, Final

from tocsin.model.instants import MICROSECONDS, read_instant
from tocsin.model.subscription import Notice
from tocsin.model.values import Instant
from tocsin.spelling import option

_FAR_S: Final = 3.2e10
"""The year 2984 in seconds since 1970. A larger number has a finer unit: in milliseconds, this means January 1971."""


_ENDLESS_S: Final = 1e300
"""A time is smaller, so that it can be converted from any unit."""
_MOST_ROWS: Final = 3
"""How many rows a warning names."""


class Tally:
    """A number of events, with the rows of the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[int] = []

    def add(self, row: int) -> None:
        """Count the event of a row."""
        self.count += 1
        if len(self._first) <= _MOST_ROWS:
            self._first = sorted((*self._first, row))
        elif row < self._first[-1]:  # events may be in the order of their times
            self._first = sorted((*self._first[:-1], row))

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        rows = ", ".join(map(str, self._first[:_MOST_ROWS]))
        more = " and more" if self.count > _MOST_ROWS else ""
        return f"1 event (row {rows})" if self.count == 1 else f"{self.count:,} events (rows {rows}{more})"


class TimeReader:
    """Reads the times of one call's events, and counts those to warn about."""

    def __init__(self, time: str | None, unit: str) -> None:
        self._time, self._unit = time, unit
        self.unknown, self.late = Tally(), Tally()
        self._unread, self._odd = Tally(), Tally()
        self._without = self._read = 0

    def seconds_of(self, moment: Any, row: int) -> float | None:
        """A time in seconds: a number in the unit, or an instant since 1970; None for any other value."""
        seconds = self._seconds(moment, row)
        self._read += seconds is not None
        self._without += moment is None
        if seconds is None and moment is not None:
            self._unread.add(row)
        return seconds

    def _seconds(self, moment: Any, row: int) -> float | None:
        if isinstance(moment, str):
            read = read_instant(moment)
            return None if read is None else read.microseconds / 1e6
        if isinstance(moment, date):
            return Instant.of(moment).microseconds / 1e6
        if not isinstance(moment, int | float) or isinstance(moment, bool) or not abs(moment) < _ENDLESS_S:
            return None
        seconds = moment * MICROSECONDS[self._unit] / 1e6
        if seconds > _FAR_S or (self._unit != "s" and 0 < moment < _FAR_S / 10):
            self._odd.add(row)
        return seconds

    def notices(self, others: Callable[[], list[Notice]]) -> list[Notice]:
        """The warnings of this call, followed by those of `others`."""
        return [*self._own(), *others()]

    def _own(self) -> Iterator[Notice]:
        name = self._time or ""
        if self._time is not None and self._without and not (self._read or self._unread):
            yield self._of(option("time", name), f"no event has {name}, so that times in seconds are unknown")
        if self._unread:
            yield self._of(option("time", name), f"{self._unread} with unreadable times, treated as without a time")
        if self._odd:
            reason = f"{self._odd} with times that look like another unit; give time_unit"
            yield self._of(option("time_unit", self._unit), reason)
        if self.late:
            reason = f"{self.late} ignored: older than the latest event of the same object"
            yield self._of(option("time", name), reason)
        if self.unknown:
            reason = "did not say whether the object is still inside; it stays inside"
            yield self._of("events", f"{self.unknown} {reason}")

    def _of(self, option: str, reason: str) -> Notice:
        return Notice(self._time or "", option, reason, 0, None)
