"""What a text, a clock or a calendar says of an instant, by `datetime` and by counting."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from fractions import Fraction
from typing import Final

from tests.naive.places import Result
from tocsin.model.values import Instant

_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]([0-9]{2}:[0-9]{2})(?:(:[0-9]{2})(\.[0-9]{1,6})?)?"
    r"([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?)?"
)
_FIRST: Final = -62_135_596_800_000_000  # 0001-01-01
_LAST: Final = 253_402_300_799_999_999  # the last microsecond of 9999
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def moment_of(text: str) -> Instant | None:
    """The instant that a whole text says; null if it says none."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    date, hours, seconds, fraction, zone = match.groups()
    leap, seconds = (1_000_000, ":59") if seconds == ":60" else (0, seconds)
    try:
        moment = dt.datetime.strptime(f"{date} {hours or '00:00'}{seconds or ':00'}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    ahead = 0 if zone is None or zone in "Zz" else int(zone[0] + "1") * (60 * int(zone[1:3]) + int(zone[4:]))
    minutes = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(minutes=1) - ahead
    microseconds = 60_000_000 * minutes + 1_000_000 * moment.second + int((fraction or ".")[1:].ljust(6, "0")) + leap
    return Instant(microseconds) if _FIRST <= microseconds <= _LAST else None


def _there(value: Result, zone: Result) -> dt.datetime | None:
    value = moment_of(value) if isinstance(value, str) else value
    if not isinstance(value, Instant):
        return None
    return (_EPOCH + dt.timedelta(microseconds=value.microseconds)).astimezone(zoneinfo.ZoneInfo(str(zone)))


def hour(value: Result, zone: Result = "UTC") -> float | None:
    there = _there(value, zone)
    return None if there is None else float(there.hour)


def weekday(value: Result, zone: Result = "UTC") -> float | None:
    there = _there(value, zone)
    return None if there is None else float(there.isoweekday())


def date_of(value: Result, zone: Result = "UTC") -> Instant | None:
    there = _there(value, zone)
    return None if there is None else Instant.of(there.date())


def duration(text: Result) -> float:
    """The seconds of a valid duration, unit by unit."""
    date, _, time = str(text)[1:].partition("T")
    seconds = Fraction(0)
    for part, units in ((date, {"W": 604_800, "D": 86_400}), (time, {"H": 3_600, "M": 60, "S": 1})):
        for count, unit in re.findall(r"([0-9.,]+)([A-Z])", part):
            seconds += Fraction(count.replace(",", ".")) * units[unit]
    return float(seconds)
