"""Bounds, changes and checked message fields of a sliding window."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, RecordError
from tocsin.model.event import is_geometry
from tocsin.model.instants import read_instant
from tocsin.model.subscription import SubscriptionId, shown
from tocsin.model.values import Instant, Point

MessageKey: TypeAlias = str | int
Location: TypeAlias = Point | Sequence[float] | Mapping[str, Any] | NDArray[Any]
"""A point: two numbers (x, y), or a GeoJSON object."""
Moment: TypeAlias = float | str | date | Instant
"""Seconds, a timestamp in RFC 3339, a date or datetime, or an instant."""

ENTER: Final = "enter"
EXIT: Final = "exit"

_LIGHTEST: Final = 1e-100
_HEAVIEST: Final = 1e100
"""Limits on weights, so that sums of their squares fit a float64."""


class Change(NamedTuple):
    """A change of a subscription's best messages.

    Attributes
    ----------
    subscription : str or int
        The subscription's id.
    message : str or int
        The message's key, or its number if messages have no keys.
    kind : str
        `enter` or `exit`.
    score : float
        The message's score for the subscription.
    """

    subscription: SubscriptionId
    message: MessageKey
    kind: str
    score: float


class Bounds(NamedTuple):
    """The area in which messages and subscriptions must lie: a box, edges included."""

    left: float
    lower: float
    right: float
    upper: float

    @classmethod
    def of(cls, raw: Any) -> Bounds:
        """Check bounds given by a caller; raises `InvalidInput`.

        >>> Bounds.of((-180, -90, 180, 90)).diagonal
        402.49223594996215
        """
        sides = list(raw) if isinstance(raw, Iterable) and not isinstance(raw, str) else []
        if len(sides) != 4 or not all(_is_number(side) and math.isfinite(side) for side in sides):
            raise InvalidInput(f"bounds are {shown(raw)}; give four numbers: (xmin, ymin, xmax, ymax)")
        bounds = cls(*map(float, sides))
        if bounds.left > bounds.right or bounds.lower > bounds.upper or not 0 < bounds.diagonal < math.inf:
            raise InvalidInput(f"bounds are {shown(raw)}; xmin and ymin are at most xmax and ymax, and not both equal")
        return bounds

    @property
    def diagonal(self) -> float:
        """The largest possible distance within the bounds."""
        width, height = self.right - self.left, self.upper - self.lower
        return math.sqrt(width * width + height * height)

    def place(self, raw: Any) -> tuple[float, float]:
        """Check a location, which must lie within the bounds; raises `RecordError`."""
        x, y = _point(raw)
        if not (self.left <= x <= self.right and self.lower <= y <= self.upper):
            raise RecordError(f"({x:g}, {y:g}) is outside the bounds {tuple(self)}", "location")
        return x, y


def _point(raw: Any) -> tuple[float, float]:
    """Convert a location to two numbers. A third number is an altitude and is ignored."""
    if isinstance(raw, Point):
        return raw.x, raw.y
    if raw is None:
        raise RecordError("it is missing; give two numbers: [x, y]", "location")
    pair = raw.get("coordinates") if isinstance(raw, Mapping) and is_geometry(raw) else raw
    if isinstance(pair, np.ndarray):
        pair = pair.tolist()
    if not isinstance(pair, list | tuple) or len(pair) not in (2, 3) or not all(map(_is_number, pair)):
        raise RecordError(f"it is {shown(raw)}; give two numbers: [x, y]", "location")
    return float(pair[0]), float(pair[1])


def checked_words(raw: Any) -> list[str]:
    """Check words, which may repeat; raises `RecordError`."""
    if isinstance(raw, str | bytes | Mapping) or not isinstance(raw, Iterable):
        raise RecordError(f"they are {shown(raw)}; give a list of strings, or a text under 'text'", "words")
    given = list(raw)
    for word in given:
        if not isinstance(word, str):
            raise RecordError(f"{shown(word)} is not a word; words are strings", "words")
        _check_unicode(word, "words")
    return given


def checked_key(raw: Any) -> MessageKey | None:
    """Check a message's key; raises `RecordError`."""
    if isinstance(raw, str):
        _check_unicode(raw, "key")
    if raw is None or isinstance(raw, str):
        return raw
    if isinstance(raw, int) and not isinstance(raw, bool) and -(2**63) <= raw < 2**63:
        return int(raw)
    raise RecordError(f"it is {shown(raw)}; a key is a string or an integer of 64 bits", "key")


def _check_unicode(text: str, field: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RecordError(f"{shown(text)} is not valid Unicode: it has a lone surrogate", field) from None


def checked_seconds(raw: Any, field: str = "time") -> float:
    """A time in seconds since 1970 or since any other moment; raises `RecordError`."""
    if isinstance(raw, str) and (read := read_instant(raw)) is not None:
        raw = read
    if isinstance(raw, date):
        raw = Instant.of(raw)
    if isinstance(raw, Instant):
        return raw.microseconds / 1e6
    if _is_number(raw):
        with suppress(OverflowError):  # of an integer that is too large for a float
            if math.isfinite(raw):
                return float(raw)
    raise RecordError(f"it is {shown(raw)}; give a number of seconds, or an instant", field)


def checked_k(raw: Any) -> int:
    """Check k, the number of messages that a subscription wants; raises `RecordError`."""
    if isinstance(raw, bool) or not isinstance(raw, int) or not 1 <= raw <= MOST_MESSAGES:
        raise RecordError(f"it is {shown(raw)}; it must be an integer from 1 to {MOST_MESSAGES:,}", "k")
    return int(raw)


MOST_MESSAGES: Final = 1_000_000
"""The upper limit on k. The window reserves space for several times k messages for each subscription."""


def checked_size(size: Any) -> int | None:
    """Check the number of messages in a window; raises `InvalidInput`."""
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1 << 30:
        raise InvalidInput(f"size is {size!r:.40}; it must be a number of messages, from 1 to {1 << 30:,}")
    return int(size)


def checked_span(time: Any) -> float | None:
    """Check for how many seconds a message stays in a window; raises `InvalidInput`."""
    if time is None:
        return None
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise InvalidInput(f"time is {time!r:.40}; it must be a number of seconds above 0, or a timedelta")
    return float(seconds)


def checked_alpha(raw: Any) -> float:
    """Check alpha, the weight of the spatial part; raises `RecordError`."""
    if not _is_number(raw) or not 0 <= raw < 1:
        raise RecordError(f"it is {shown(raw)}; it must be a number from 0 to less than 1", "alpha")
    return float(raw)


def checked_squares(weights: Mapping[str, float] | None) -> dict[str, float]:
    """The squares of the words' weights; raises `InvalidInput`."""
    for word, weight in (weights or {}).items():
        if not isinstance(word, str) or not _is_number(weight) or not _LIGHTEST <= weight <= _HEAVIEST:
            raise InvalidInput(
                f"the weight of {shown(word)} is {shown(weight)}; words weigh numbers from {_LIGHTEST} to {_HEAVIEST}."
            )
    return {word: float(weight) * float(weight) for word, weight in (weights or {}).items()}


def _is_number(value: object) -> bool:
    """Whether a value is a number that a float can hold; infinities and NaN are."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)
