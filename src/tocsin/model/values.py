"""What is a value? Scalars, instants, lists and geometries, and which Python objects become them.

A value is a `float`, `str`, `bool`, `Instant`, `Point` or `Box`, a tuple of scalars (a list), or `UNTYPED`: present,
and of no type. Absence is not a value.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from tocsin.errors import InvalidInput

LARGEST_INTEGER: Final = 2**53
"""Integers beyond +-2**53 are refused: float64 cannot tell them apart."""

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A moment: microseconds since 1970-01-01T00:00:00Z. A date is its midnight in UTC; no zone means UTC."""

    microseconds: int

    @classmethod
    def of(cls, moment: dt.date | dt.datetime) -> Instant:
        """The instant of a `datetime` (without zone: UTC) or of a `date` (its midnight in UTC)."""
        if not isinstance(moment, dt.datetime):
            moment = dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC)
        elif moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return cls((moment - _EPOCH) // _MICROSECOND)

    @classmethod
    def parse(cls, text: str) -> Instant:
        """Read an ISO 8601 date or timestamp; raise `InvalidInput` on anything else.

        >>> Instant.parse("1970-01-02"), Instant.parse("1970-01-01T00:00:01Z")
        (Instant(microseconds=86400000000), Instant(microseconds=1000000))
        """
        try:
            if len(text) == 10:
                return cls.of(dt.date.fromisoformat(text))
            return cls.of(dt.datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            raise InvalidInput(f"{text!r} is no date or time; write 2024-05-31 or 2024-05-31T08:15:00Z") from None

    def isoformat(self) -> str:
        """ISO 8601 in UTC, ending in Z.

        >>> Instant(1_000_000).isoformat()
        '1970-01-01T00:00:01Z'
        """
        moment = _EPOCH + dt.timedelta(microseconds=self.microseconds)
        return moment.replace(tzinfo=None).isoformat() + "Z"


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the plane: x is longitude, y latitude."""

    x: float
    y: float

    def bounds(self) -> tuple[float, float, float, float]:
        return self.x, self.y, self.x, self.y


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with closed edges. Raises `InvalidInput` when a minimum exceeds its maximum."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.bounds())):
            raise InvalidInput(f"a box needs four finite numbers, not {self.bounds()}")
        if self.xmin > self.xmax or self.ymin > self.ymax:
            raise InvalidInput(
                f"box {self.bounds()} has a minimum above its maximum; write xmin, ymin, xmax, ymax. "
                "A region across the antimeridian is two boxes joined by OR"
            )

    def bounds(self) -> tuple[float, float, float, float]:
        return self.xmin, self.ymin, self.xmax, self.ymax


class Untyped(Enum):
    """The type of `UNTYPED`."""

    UNTYPED = "untyped"

    def __repr__(self) -> str:
        return "UNTYPED"


UNTYPED: Final = Untyped.UNTYPED
"""A value that is present and of no type: `IS NULL` is FALSE of it, everything else UNKNOWN."""

Geometry: TypeAlias = Point | Box
Scalar: TypeAlias = float | str | bool | Instant
Value: TypeAlias = Scalar | tuple[Scalar, ...] | Geometry | Untyped


def box_of(value: Value) -> tuple[float, float, float, float] | None:
    """The box that a spatial function sees: a geometry's bounds, or a list of two or four numbers; else None.

    >>> box_of((1.0, 2.0)), box_of((0.0, 0.0, 2.0, 1.0)), box_of((2.0, 0.0, 0.0, 1.0))
    ((1.0, 2.0, 1.0, 2.0), (0.0, 0.0, 2.0, 1.0), None)
    """
    if isinstance(value, Point | Box):
        return value.bounds()
    if not isinstance(value, tuple) or len(value) not in (2, 4) or not all(type(v) is float for v in value):
        return None
    x, y, *rest = value
    upper_x, upper_y = rest or (x, y)
    bounds = (float(x), float(y), float(upper_x), float(upper_y))  # type: ignore[arg-type]
    return bounds if bounds[0] <= bounds[2] and bounds[1] <= bounds[3] else None


def type_name(value: Value | None) -> str:
    """How messages call a value's type."""
    if value is None:
        return "absent"
    if isinstance(value, tuple):
        return "list"
    if isinstance(value, Point | Box):
        return "geometry"
    return _SCALAR_NAMES.get(type(value), "of no type")


_SCALAR_NAMES: Final = {float: "number", str: "string", bool: "boolean", Instant: "instant"}
