"""Date maths: steps such as `+1M/d` on the clock of a zone, and the number of seconds of steps of a fixed length."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tocsin.language.dialects.dialect import Reader
from tocsin.model.subscription import shown

_STEP: Final = re.compile(r"(?:([+-])([0-9]{0,12})|/1?)([a-zA-Z])")
_SECONDS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "H": 3_600, "m": 60, "s": 1}
_PARTS: Final = ("month", "day", "hour", "minute", "second", "microsecond")
_KEPT: Final = {"y": 0, "M": 1, "w": 2, "d": 2, "h": 3, "H": 3, "m": 4, "s": 5}
"""How many of the parts remain if a date is rounded to a unit."""
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


class Step(NamedTuple):
    """A step of date maths: a number of units, or 0 to round to the unit."""

    number: int
    unit: str


def steps_of(maths: str, reader: Reader) -> Iterator[Step]:
    """The steps of date maths, from left to right."""
    end = 0
    while end < len(maths):
        found = _STEP.match(maths, end)
        if found is None:
            reader.fail(f"{shown(maths)} is not date maths, such as -1d or +1M/d")
        end = found.end()
        sign, count, unit = found.groups()
        if unit not in _KEPT:
            reader.fail(f"{shown(unit)} is not a unit of date maths: y, M, w, d, h, H, m or s")
        if sign is None:
            yield Step(0, unit)
        elif number := int(count or 1):
            yield Step(number if sign == "+" else -number, unit)


def moved(moment: int, maths: str, zone: dt.tzinfo, reader: Reader, *, up: bool) -> tuple[int, bool]:
    """Microseconds since 1970, moved by date maths, and whether they are the end of a unit.

    Rounding goes to the first millisecond of the unit or, with `up`, to the last.
    """
    is_end, steps = False, list(steps_of(maths, reader))
    try:
        when = (_EPOCH + dt.timedelta(microseconds=moment)).astimezone(zone)
        for step in steps:
            if step.number:
                when = _later(when, step.number, step.unit)
                continue
            when = _start(when, step.unit)
            if up:
                when, is_end = _by_clock(_later(when, 1, step.unit), -_MILLISECOND), True
        return (when - _EPOCH) // dt.timedelta(microseconds=1), is_end
    except (OverflowError, ValueError):
        reader.fail("the date is outside of the years 1 to 9999")


def _later(when: dt.datetime, count: int, unit: str) -> dt.datetime:
    """A date, some units later. Days and longer units are those of the calendar, so that the clock shows the same."""
    if unit in "yM":
        months = 12 * when.year + when.month - 1 + count * (12 if unit == "y" else 1)
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 1
        return _shown(when.replace(year=year, month=month + 1, day=min(when.day, last)), when)
    if unit in "wd":
        return _shown(when + dt.timedelta(days=count * (7 if unit == "w" else 1)), when)
    return _by_clock(when, dt.timedelta(seconds=count * _SECONDS[unit]))


def _by_clock(when: dt.datetime, time: dt.timedelta) -> dt.datetime:
    """A date, some time later, whatever the clock of the zone does meanwhile."""
    return (when.astimezone(dt.UTC) + time).astimezone(when.tzinfo)


def _start(when: dt.datetime, unit: str) -> dt.datetime:
    """The start of the unit that a date lies in. Weeks begin on Mondays."""
    day = when - dt.timedelta(days=when.weekday()) if unit == "w" else when
    first: dict[str, Any] = {name: int(name in ("month", "day")) for name in _PARTS[_KEPT[unit] :]}
    return _shown(day.replace(**first), when)


def _shown(local: dt.datetime, before: dt.datetime) -> dt.datetime:
    """When the clock shows a local time: with the offset of before, if it shows it twice; later, if it skips it."""
    for fold in (0, 1):
        if (local := local.replace(fold=fold)).utcoffset() == before.utcoffset():
            break
    else:
        local = local.replace(fold=0)
    return local.astimezone(dt.UTC).astimezone(before.tzinfo)


def seconds_of(maths: str, reader: Reader) -> int:
    """The sum of date maths of the present. Units without a fixed length, and rounding, are refused."""
    seconds = 0
    for step in steps_of(maths, reader):
        if not step.number:
            reader.refuse("rounding of now in date maths", "the start of a day or month moves; write a distance")
        if step.unit not in _SECONDS:
            reader.refuse(f"the unit {step.unit} in date maths of now", "it has no fixed length; write days")
        seconds += step.number * _SECONDS[step.unit]
    return seconds
