"""Values of attributes: scalars, instants, ranges, lists and geometries.

A value is a `float`, `str`, `bool`, `Instant`, `Range`, `Point`, `Box` or `Shape`, a tuple of scalars (a list), or
`UNTYPED` (present, but without a type). Absence is not a value.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from tocsin.errors import InvalidInput

LARGEST_INTEGER: Final = 2**53
"""tocsin rejects integers beyond +-2**53, because float64 cannot tell them apart."""

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A moment: microseconds since 1970-01-01T00:00:00Z. A date is midnight UTC of that day; no zone means UTC."""

    microseconds: int

    @classmethod
    def of(cls, moment: dt.date | dt.datetime) -> Instant:
        """The instant of a `datetime` (UTC if it has no zone) or of a `date` (its midnight in UTC)."""
        if not isinstance(moment, dt.datetime):
            moment = dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC)
        elif moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return cls((moment - _EPOCH) // _MICROSECOND)

    @classmethod
    def parse(cls, text: str) -> Instant:
        """Parse an ISO 8601 date or timestamp, to the microsecond; raises `InvalidInput` on anything else.

        >>> Instant.parse("1970-01-02"), Instant.parse("1970-01-01T00:00:01Z")
        (Instant(microseconds=86400000000), Instant(microseconds=1000000))
        """
        try:
            if len(text) == 10:
                return cls.of(dt.date.fromisoformat(text))
            return cls.of(dt.datetime.fromisoformat(text.upper()))
        except (ValueError, OverflowError):
            raise InvalidInput(_no_instant(text)) from None

    def isoformat(self) -> str:
        """ISO 8601 in UTC, ending in Z. Before the year 1 or after 9999, the offset from 1970 in microseconds.

        >>> Instant(1_000_000).isoformat()
        '1970-01-01T00:00:01Z'
        """
        try:
            moment = _EPOCH + dt.timedelta(microseconds=self.microseconds)
        except OverflowError:
            sign = "-" if self.microseconds < 0 else "+"
            return f"1970-01-01T00:00:00Z {sign} {abs(self.microseconds)} microseconds"
        return moment.replace(tzinfo=None).isoformat() + "Z"


def _no_instant(text: str) -> str:
    if _LEAP_SECOND.search(text):
        return f"{text!r} is a leap second, which instants cannot hold; write the second before or after it"
    return f"{text!r} is not a date or time; write 2024-05-31 or 2024-05-31T08:15:00Z"


_LEAP_SECOND: Final = re.compile(r"\d:\d\d:60(?!\d)")
EARLIEST: Final = Instant(-(2**63) + 2)
"""No instant comes before it, so `x >= EARLIEST` holds for every instant."""
FIRST_INSTANT: Final = Instant.of(dt.datetime.min)
LAST_INSTANT: Final = Instant.of(dt.datetime.max)
"""The first and the last instant that a text can express."""


@dataclass(frozen=True, slots=True, init=False)
class Range:
    """A value that an event knows only as a range, or a choice of values: all from `lo` to `hi`, both included.

    A comparison with a constant matches when some value in the range satisfies it: its interval overlaps the range. If
    the range is `contained`, all values must satisfy it: its interval contains the range.

    Attributes
    ----------
    lo, hi : float or date or datetime or None
        The ends, both of one type; None means no limit, at one end at most. Dates are kept as instants in UTC.
    contained : bool
        Whether all values in the range must satisfy a condition, instead of some.

    Raises
    ------
    InvalidInput
        If the ends are reversed, of two types, or not ordered.

    Examples
    --------
    >>> Range(20, 30)
    Range(lo=20.0, hi=30.0, contained=False)
    >>> import tocsin
    >>> tocsin.match({"id": "s", "where": "hours > 25"}, {"hours": Range(20, 30)}).table.to_pylist()
    [{'event': 0, 'subscription': 's'}]

    Notes
    -----
    Paper: Machanavajjhala et al. 2008, section 6 ("more expressive events").
    """

    lo: float | Instant | None
    hi: float | Instant | None
    contained: bool

    def __init__(
        self,
        lo: float | dt.date | Instant | None = None,
        hi: float | dt.date | Instant | None = None,
        *,
        contained: bool = False,
    ) -> None:
        low, high = _end(lo), _end(hi)
        if not isinstance(contained, bool):
            raise InvalidInput(f"contained is {contained!r:.40}; it is True or False")
        if isinstance(low, float) or isinstance(high, float):
            low, high = -math.inf if low is None else low, math.inf if high is None else high
        if (low, high) in ((None, None), (-math.inf, math.inf)):
            raise InvalidInput("a range needs at least one end; leave the attribute out if nothing is known of it")
        if low is not None and high is not None:
            if isinstance(low, float) is not isinstance(high, float):
                raise InvalidInput(f"a range from {lo!r:.40} to {hi!r:.40} has ends of two types; give two of one")
            if low > high:  # type: ignore[operator]
                raise InvalidInput(f"a range from {lo!r:.40} to {hi!r:.40} is reversed; write Range(lowest, highest)")
            if low == high and isinstance(low, float) and math.isinf(low):
                raise InvalidInput(f"a range from {lo!r:.40} to {hi!r:.40} has no number in it")
        object.__setattr__(self, "lo", low)
        object.__setattr__(self, "hi", high)
        object.__setattr__(self, "contained", contained)


def _end(end: object) -> float | Instant | None:
    """Check one end of a range: a number (infinity is allowed), an instant, or None."""
    if end is None or isinstance(end, Instant):
        return end
    if isinstance(end, dt.date):
        return Instant.of(end)
    plain = end.item() if type(end).__module__ == "numpy" and hasattr(end, "item") else end
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise InvalidInput(f"an end of a range is a number, a date, a datetime or None, not {end!r:.40}")
    if isinstance(plain, int) and abs(plain) > LARGEST_INTEGER:
        raise InvalidInput(f"integer {plain!r:.40} is beyond 2**53; float64 cannot hold it")
    if math.isnan(plain):
        raise InvalidInput("an end of a range is NaN; give a number, or None for an open end")
    return float(plain) + 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the plane: x is longitude, y latitude."""

    x: float
    y: float

    def bounds(self) -> tuple[float, float, float, float]:
        return self.x, self.y, self.x, self.y


Bounds: TypeAlias = tuple[float, float, float, float]
"""Left, lower, right and upper edge."""


def crosses(bounds: Bounds) -> bool:
    """Whether the edges form a box across the antimeridian: the left edge is east of the right one, on the globe."""
    left, lower, right, upper = bounds
    return -180.0 <= right < left <= 180.0 and lower <= upper


def sides_of(bounds: Bounds) -> tuple[Bounds, ...]:
    """Split a box that crosses the antimeridian into its two sides; any other box is returned as it is.

    >>> sides_of((150.0, -9.0, -150.0, 9.0))
    ((150.0, -9.0, 180.0, 9.0), (-180.0, -9.0, -150.0, 9.0))
    """
    if bounds[0] <= bounds[2]:
        return (bounds,)
    left, lower, right, upper = bounds
    return (left, lower, 180.0, upper), (-180.0, lower, right, upper)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with closed edges. If its west edge is east of its east edge, it crosses the antimeridian.

    Raises `InvalidInput` when a minimum exceeds its maximum and the box does not cross the antimeridian.
    """

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.bounds())):
            raise InvalidInput(f"a box needs four finite numbers, not {self.bounds()}")
        if self.ymin > self.ymax or (self.xmin > self.xmax and not crosses(self.bounds())):
            raise InvalidInput(
                f"box {self.bounds()} has a minimum above its maximum; write xmin, ymin, xmax, ymax. Only a box across "
                "the antimeridian has its west edge above its east edge, both from -180 to 180"
            )

    def bounds(self) -> tuple[float, float, float, float]:
        return self.xmin, self.ymin, self.xmax, self.ymax


class Untyped(Enum):
    """The type of `UNTYPED`."""

    UNTYPED = "untyped"

    def __repr__(self) -> str:
        return "UNTYPED"


UNTYPED: Final = Untyped.UNTYPED
"""A value that is present but has no type. `IS NULL` is FALSE for it; every other condition is UNKNOWN."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Any other geometry on the plane (line, polygon, collection), as well-known text in canonical form."""

    wkt: str


Geometry: TypeAlias = Point | Box | Shape
Scalar: TypeAlias = float | str | bool | Instant
SCALARS: Final = (float, str, bool, Instant)
Value: TypeAlias = Scalar | tuple[Scalar, ...] | Geometry | Range | Untyped


EDGES: Final = {2: (0, 1, 0, 1), 3: (0, 1, 0, 1), 4: (0, 1, 2, 3), 6: (0, 1, 3, 4)}
"""Positions of the left, lower, right and upper edge in a list, by its length. Lengths 3 and 6 include an altitude."""


def box_of(value: Value) -> tuple[float, float, float, float] | None:
    """The box that a spatial function sees: a geometry's bounds, or a list that is a point or a box; else None.

    A box across the antimeridian has its left edge above its right edge; `sides_of` splits it.

    >>> box_of((1.0, 2.0)), box_of((0.0, 0.0, 2.0, 1.0)), box_of((2.0, 1.0, 3.0, 0.0)), box_of((1.0, 2.0, 50.0))
    ((1.0, 2.0, 1.0, 2.0), (0.0, 0.0, 2.0, 1.0), None, (1.0, 2.0, 1.0, 2.0))
    """
    if isinstance(value, Point | Box):
        return value.bounds()
    if not isinstance(value, tuple) or not all(type(v) is float for v in value):
        return None
    places = EDGES.get(len(value))
    if places is None:
        return None
    left, lower, right, upper = (value[place] for place in places)
    bounds = (float(left), float(lower), float(right), float(upper))  # type: ignore[arg-type]
    return bounds if (bounds[0] <= bounds[2] and bounds[1] <= bounds[3]) or crosses(bounds) else None


def a(noun: str) -> str:
    """A noun with its indefinite article.

    >>> a("int"), a("dict"), a("Event"), a("ndarray"), a("UUID")
    ('an int', 'a dict', 'an Event', 'an ndarray', 'a UUID')
    """
    return f"{'an' if noun.lower().startswith(_SPOKEN_AS_VOWELS) else 'a'} {noun}"


_SPOKEN_AS_VOWELS: Final = ("a", "e", "i", "o", "un", "nd")


def size_of(*texts: str) -> int:
    """The bytes of texts in UTF-8."""
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts)


def class_of(raw: object) -> str:
    """The class of any object in messages, with its article: "an int"; None is "None"."""
    return "None" if raw is None else a(type(raw).__name__)


def type_name(value: Value | None) -> str:
    """The name of a value's type in messages."""
    if value is None:
        return "absent"
    if isinstance(value, tuple):
        return "list"
    if isinstance(value, Point | Box | Shape):
        return "geometry"
    if isinstance(value, Range):
        return type_name(value.hi if value.lo is None else value.lo)
    return _SCALAR_NAMES.get(type(value), "untyped value")


_SCALAR_NAMES: Final = {float: "number", str: "string", bool: "boolean", Instant: "instant"}
