"""Time zones, by the names of the IANA database: what clocks and calendars show in them."""

from __future__ import annotations

import datetime as dt
import difflib
import zoneinfo
from functools import lru_cache
from typing import Final

from tocsin.errors import InvalidInput
from tocsin.model.values import Instant

UTC: Final = "UTC"
HOUR_US: Final = 3_600_000_000
DAY_US: Final = 24 * HOUR_US

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_CYCLE_US: Final = 146_097 * DAY_US
"""400 years, after which the calendar and its weekdays repeat."""
_FIRST_US: Final = (dt.datetime(1200, 1, 1, tzinfo=dt.UTC) - _EPOCH) // dt.timedelta(microseconds=1)
_LAST_US: Final = (dt.datetime(8000, 1, 1, tzinfo=dt.UTC) - _EPOCH) // dt.timedelta(microseconds=1)
"""Before and after these, `datetime` may not hold an instant, but the rules of every zone repeat with the calendar."""


def zone_problem(name: str) -> str | None:
    """What is wrong with the name of a zone; None if nothing is.

    >>> zone_problem("Europe/Berlin"), zone_problem("Europe/Berln")
    (None, "'Europe/Berln' is not a time zone; did you mean 'Europe/Berlin'?")
    """
    try:
        zone_of(name)
    except InvalidInput as error:
        return str(error)
    return None


@lru_cache(1024)
def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The zone of a name. Raises `InvalidInput` if there is none that has one meaning on all machines."""
    try:
        if not name.startswith(_OF_MACHINE):
            return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):  # the others: not a path, or that of a folder
        pass
    near = difflib.get_close_matches(name[:60], sorted(zoneinfo.available_timezones()), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "write a name of the IANA database, such as 'Europe/Berlin'"
    raise InvalidInput(f"{name[:60]!r} is not a time zone; {hint}")


_OF_MACHINE: Final = ("localtime", "posixrules", "posix/", "right/", "Factory")
"""Names that mean another zone on another machine, or that only some machines have."""


def local_us(instant: Instant, zone: str) -> int:
    """What a clock in a zone shows at an instant, as microseconds since its own 1970-01-01T00:00.

    >>> local_us(Instant(0), "Europe/Berlin") // HOUR_US
    1
    """
    moment = instant.microseconds
    if zone == UTC:
        return moment
    within = moment
    if moment < _FIRST_US:
        within = _FIRST_US + (moment - _FIRST_US) % _CYCLE_US
    elif moment >= _LAST_US:
        within = _LAST_US - _CYCLE_US + (moment - _LAST_US) % _CYCLE_US
    there = (_EPOCH + dt.timedelta(microseconds=within)).astimezone(zone_of(zone))
    offset = there.utcoffset()
    assert offset is not None, "a zone has an offset at every instant"
    return moment + offset // dt.timedelta(microseconds=1)
