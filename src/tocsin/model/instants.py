"""Parsing of dates and timestamps, one by one or in columns: the same rules for events, schemas and CSV.

The format is RFC 3339 with common variants: a space or `t` for the T, no seconds, any number of fraction digits, `z`,
and zones such as `+0200` and `+02`. Without a zone the time is UTC. Digits beyond microseconds are cut off. A leap
second, `:60`, is the next second.
"""

from __future__ import annotations

import datetime as dt
import re
import time
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.model.values import FIRST_INSTANT, LAST_INSTANT, Instant

_ZONE: Final = r"([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)"
INSTANT_PATTERN: Final = rf"^[0-9]{{4}}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?{_ZONE}?)?$"
_INSTANT: Final = re.compile(INSTANT_PATTERN, re.ASCII)
_LEAP_SECOND: Final = r"^(.{16}):60"
_SECOND: Final = 1_000_000


def present() -> Instant:
    """The instant that the clock shows."""
    return Instant(time.time_ns() // 1000)


def given_moments(given: object) -> Instant | NDArray[np.int64] | None:
    """A present that a caller gave, or one for each event, in microseconds. Raises `InvalidInput`."""
    if not isinstance(given, np.ndarray):
        return given_moment(given)
    if given.ndim != 1 or given.dtype.kind != "M" or np.isnat(given).any():
        raise InvalidInput("now is an array, but not one of datetime64 with an instant for each event")
    moments: NDArray[np.int64] = given.astype("datetime64[us]").astype(np.int64)
    return moments


def given_moment(given: object, name: str = "now") -> Instant | None:
    """An instant that a caller gave as a `datetime`, a `date` or a text; None for None. Raises `InvalidInput`."""
    if given is None or isinstance(given, Instant):
        return given
    if isinstance(given, dt.date):
        return Instant.of(given)
    moment = read_instant(given) if isinstance(given, str) else None
    if moment is None:
        raise InvalidInput(f"{name} is {given!r:.40}; give a date and time, such as '2024-05-31T08:15:00Z'")
    return moment


MICROSECONDS: Final = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
"""Microseconds in each unit of epoch numbers."""


def read_instant(text: str) -> Instant | None:
    """Parse a whole string as an instant; None if it is not one.

    >>> read_instant("1970-01-01 02:00:01.0000009+0200"), read_instant("yesterday")
    (Instant(microseconds=1000000), None)
    """
    if "\n" in text or not _INSTANT.match(text):
        return None
    plain = re.sub(_LEAP_SECOND, r"\1:59", text.upper())
    try:
        instant = Instant.parse(plain)
    except InvalidInput:
        return None
    if plain[16:19] != text[16:19]:
        instant = Instant(instant.microseconds + _SECOND)
    return instant if FIRST_INSTANT <= instant <= LAST_INSTANT else None


def read_instants(texts: pa.Array) -> pa.Array:
    """Parse strings of an Arrow array as `read_instant` does, to microseconds; null if not an instant. Cost: linear."""
    looks = pc.match_substring_regex(texts, INSTANT_PATTERN)
    zoned = pc.match_substring_regex(texts, rf":.*{_ZONE}$")
    is_leap = pc.match_substring_regex(texts, _LEAP_SECOND)
    upper = pc.replace_substring_regex(pc.ascii_upper(texts), r"(\.\d{6})\d+", r"\1")
    upper = pc.replace_substring_regex(upper, _LEAP_SECOND, r"\1:59")
    upper = pc.replace_substring_regex(upper, r"(:.*[+-]\d\d)$", r"\1:00")
    upper = pc.replace_substring_regex(upper, r"(:.*[+-]\d\d)(\d\d)$", r"\1:\2")
    try:
        with_zone = pc.if_else(pc.and_(looks, zoned), upper, None).cast(_TIMESTAMP)
        without = pc.if_else(pc.and_(looks, pc.invert(zoned)), upper, None).cast(pa.timestamp("us"))
        moments = pc.coalesce(with_zone, without.cast(_TIMESTAMP)).cast(pa.int64())
        moments = pc.add(moments, pc.if_else(is_leap, _SECOND, 0))
    except pa.ArrowInvalid:  # some date does not exist in the calendar
        singly = [None if text is None else read_instant(text) for text in texts.to_pylist()]
        return pa.array([None if one is None else one.microseconds for one in singly], pa.int64())
    within = pc.and_(
        pc.greater_equal(moments, FIRST_INSTANT.microseconds), pc.less_equal(moments, LAST_INSTANT.microseconds)
    )
    return pc.if_else(within, moments, None)


_TIMESTAMP: Final = pa.timestamp("us", "UTC")
