"""Warnings of fences: events without information, late events, and times that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.wanted import Wanted
from tocsin.engine.misnamed import absent, meant
from tocsin.engine.seen import Seen
from tocsin.kernels import codes
from tocsin.language import name_text
from tocsin.language.nearest import nearest
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

    def add_all(self, rows: NDArray[np.int64]) -> None:
        """Count the events of some rows."""
        for row in rows[: _MOST_ROWS + 1].tolist():
            self.add(row)
        self.count += max(len(rows) - _MOST_ROWS - 1, 0)

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        rows = ", ".join(map(str, self._first[:_MOST_ROWS]))
        more = " and more" if self.count > _MOST_ROWS else ""
        return f"1 event (row {rows})" if self.count == 1 else f"{self.count:,} events (rows {rows}{more})"


class TimeReader:
    """Reads the times of events, and counts those to warn about."""

    def __init__(self, time: str | None, unit: str) -> None:
        self._time, self._unit = time, unit
        self.unknown, self.late = Tally(), Tally()
        self.far, self.corrected = Tally(), Tally()  # dates far ahead of all other objects; dates that count after one
        self._unread, self._odd = Tally(), Tally()
        self._without = self._read = 0
        self._announced: set[str] = set()

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

    def notices(self, names: Callable[[], list[str]]) -> Iterator[Notice]:
        """The warnings about these events; `names` gives the attributes that they have."""
        name = self._time
        if name is not None and self._without and not (self._read or self._unread):
            near = nearest(name, names())
            reason = f"; did you mean {near}? Times in seconds" if near else ", so that times in seconds"
            yield self._of(option("time", name), f"no event has {name}{reason} are unknown")
        yield from self._counted().values()

    def news(self) -> list[Notice]:
        """The warnings about events of a kind that no event had when this was last called."""
        found = {kind: notice for kind, notice in self._counted().items() if kind not in self._announced}
        self._announced.update(found)
        return list(found.values())

    def _counted(self) -> dict[str, Notice]:
        """The warnings that count events, by kind."""
        of_time, of_unit = option("time", self._time or ""), option("time_unit", self._unit)
        kinds = {
            "unread": (self._unread, of_time, "with unreadable times, treated as without a time"),
            "odd": (self._odd, of_unit, f"with times that look like another unit; give {option('time_unit')}"),
            "late": (self.late, of_time, "ignored: older than the latest event of the same object"),
            "far": (self.far, of_time, "far ahead of all other objects; their times move their own objects alone"),
            "corrected": (
                self.corrected,
                of_time,
                "counted: the later time of the same object is far ahead of all others",
            ),
            "unknown": (self.unknown, "events", "did not say whether the object is still inside; it stays inside"),
        }
        return {kind: self._of(about, f"{tally} {told}") for kind, (tally, about, told) in kinds.items() if tally}

    def _of(self, option: str, reason: str) -> Notice:
        return Notice(self._time or "", option, reason, 0, None)


class FenceNotes:
    """What events were like, for warnings about one call, or about all calls of a stream. `Fences.notes` makes them."""

    def __init__(self, time: str | None, unit: str) -> None:
        self.times = TimeReader(time, unit)
        self.seen = Seen()
        self._rows = self._with_key = 0

    def add_keys(self, keys: pa.ChunkedArray) -> None:
        """Record the values of the attribute `event_key`."""
        self._rows, self._with_key = self._rows + len(keys), self._with_key + len(keys) - keys.null_count

    def news(self) -> list[Notice]:
        """The warnings about times of a kind that no event had when this was last called."""
        return self.times.news()

    def notices(self, event_key: str | None, others: Callable[[], list[Notice]]) -> list[Notice]:
        """The warnings about these events, followed by those of `others`."""
        found = [*self.times.notices(self.seen.names), *others()]
        if event_key is None or self._with_key or not self._rows:
            return found
        return [absent(option("event_key", event_key), event_key, self.seen), *found]


_PLACES: Final = 1 << codes.GEOMETRY | 1 << codes.SHAPE


def pathless(wanted: Wanted, seen: Seen, path: str) -> Iterator[Notice]:
    """A warning that no event has a point under the name of `path`, so that no crossings are found."""
    if not seen.events:
        return
    places = [name for name in wanted.numbers if name != path and _is_place(seen, name)]
    near = nearest(path, places) or (places[0] if len(places) == 1 else None)
    reason = "no event has a point there" if path in wanted else f"no subscription uses {name_text(path)}"
    yield Notice(path, option("path", path), f"{reason}{meant(near)}", 0, None)


def _is_place(seen: Seen, name: str) -> bool:
    types = seen.types.get(name, 0)
    return bool(types & _PLACES) or (types == 1 << codes.LIST and name not in seen.no_places)
