"""Geofence changes of moving objects at subscriptions: enter, inside, dwell, exit, cross and lost."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from tocsin.errors import InvalidInput
from tocsin.model.instants import MICROSECONDS
from tocsin.model.subscription import Reject, SubscriptionId, shown
from tocsin.spelling import option

ENTER: Final = "enter"
INSIDE: Final = "inside"
DWELL: Final = "dwell"
EXIT: Final = "exit"
CROSS: Final = "cross"
LOST: Final = "lost"

ObjectKey: TypeAlias = str | int | float
Position: TypeAlias = tuple[float, float]


class OtherKey(str):
    """A key of a type that JSON does not have, as text."""

    __slots__ = ()


def plain_key(key: Any) -> ObjectKey:
    """A key as JSON has it: decimals and UUIDs become strings."""
    return key if isinstance(key, str | int | float) else str(key)


def problem_of(key: Any, name: str) -> str:
    """What is wrong with a key under a name; empty if it identifies an object.

    >>> problem_of([1], "v"), problem_of("b-7", "v")
    ("its 'v' is [1]; a key is a string or a number", '')
    """
    if key is None or key != key:
        return f"it has no value of {name!r}, which identifies objects"
    is_key = isinstance(key, str | int | float | Decimal | UUID) and not isinstance(key, bool | OtherKey)
    if is_key:
        return ""
    is_nested = isinstance(key, list | tuple | dict)
    came = shown(key if is_nested or isinstance(key, bool) else str(key))
    reason = f"its {name!r} is {came}; a key is a string or a number"
    return reason if is_nested else f"{reason}. In a CSV file, {option('schema', {name: 'string'})} reads it as text."


class FenceChange(NamedTuple):
    """One change of an object at a subscription.

    Attributes
    ----------
    object : str or int or float
        The object's key.
    subscription : str or int
        The subscription's id.
    change : str
        `enter`, `inside`, `dwell`, `exit`, `cross` or `lost`.
    seconds : float or None
        How long the object had been inside by then; None if that is not known.
    """

    object: ObjectKey
    subscription: SubscriptionId
    change: str
    seconds: float | None = None


class FenceChanges(list[FenceChange]):
    """The changes that one event causes, in order: a list.

    Parameters
    ----------
    changes : iterable of FenceChange
        The changes.
    errors : list of Reject
        The event's values that could not be used. It counts as an event without them.
    """

    def __init__(self, changes: Iterable[FenceChange], errors: list[Reject]) -> None:
        super().__init__(changes)
        self.errors = errors


MOST_OBJECTS: Final = 1_000_000
NO_PLACES: Final = ((181.0, 91.0),)
"""The position that AIS sends when there is none."""
_ORDERS: Final = ("arrival", "time")


def without_time() -> str:
    """What options lack that measure times."""
    return f"needs {option('time')}, the attribute with the time of an event"


@dataclass(frozen=True, slots=True)
class Followed:
    """The settings of object tracking: attributes for key, time, path and accuracy, and when to forget an object."""

    key: str
    time: str | None = None
    path: str | None = None
    most_objects: int = MOST_OBJECTS
    forget_after: float | None = None
    time_unit: str = "s"
    order: str = "arrival"
    no_places: tuple[tuple[float, float], ...] = NO_PLACES
    accuracy: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("key", self.key), ("time", self.time), ("path", self.path), ("accuracy", self.accuracy)):
            if not (isinstance(value, str) and value) and not (name != "key" and value is None):
                raise InvalidInput(f"{option(name)} is {value!r:.40}; it names an attribute of the events")
        for name, value in (("time", self.time), ("key", self.key)):
            if self.path is not None and self.path == value:
                raise InvalidInput(
                    f"{option('path')} and {option(name)} are both {value!r:.40}; {option('path')} names the "
                    "attribute with the object's place"
                )
        if not isinstance(self.most_objects, int) or isinstance(self.most_objects, bool) or self.most_objects < 1:
            raise InvalidInput(f"most_objects is {self.most_objects!r:.40}; it counts objects, from 1 on.")
        after = self.forget_after
        if after is not None and not (_is_number(after) and after > 0):
            reason = f"it is a number of seconds above 0, or a time such as '30 min'{_UNITS}."
            raise InvalidInput(f"{option('forget_after')} is {after!r:.40}; {reason}")
        if after is not None and self.time is None:
            raise InvalidInput(f"{option('forget_after', after)} {without_time()}")
        if not isinstance(self.time_unit, str) or self.time_unit not in MICROSECONDS:
            raise InvalidInput(
                f"{option('time_unit')} is {self.time_unit!r:.40}; it is one of {', '.join(MICROSECONDS)}."
            )
        if self.order not in _ORDERS or (self.order == "time" and self.time is None):
            if self.order == "time":
                raise InvalidInput(f"{option('order', self.order)} {without_time()}")
            raise InvalidInput(f"{option('order')} is {self.order!r:.40}; it is one of {', '.join(_ORDERS)}.")
        object.__setattr__(self, "no_places", _checked_places(self.no_places))


def _checked_places(places: Any) -> tuple[tuple[float, float], ...]:
    """Check a list of points, each two numbers; raises `InvalidInput`."""
    try:
        if isinstance(places, str | Mapping):
            raise TypeError
        points = tuple((float(x), float(y)) for x, y in places)
        if not all(map(math.isfinite, itertools.chain(*points))):
            raise ValueError
        return points
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"no_places is {places!r:.60}; it lists points: [(0, 0), (181, 91)]") from None


@dataclass(frozen=True, slots=True)
class FenceRules:
    """The rules by which events count as a change.

    An object enters with its `enter_after`-th consecutive event that satisfies the subscription. It exits with its
    `exit_after`-th consecutive event for which the subscription is FALSE, so one odd position is not an exit. Both may
    be a duration instead, a `timedelta` or a text such as "30 s". The run of events must then last that long, from its
    first to its last event. An object dwells once it has been inside for `dwell` seconds. With `inside`, every further
    event inside is reported.

    >>> FenceRules(exit_after=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tocsin.errors.InvalidInput: exit_after is 0; it counts events, from 1 on, or is a time such as '30 s' (ms, ...).
    """

    enter_after: int | str | timedelta = 1
    exit_after: int | str | timedelta = 1
    dwell: float | None = None
    inside: bool = False

    def __post_init__(self) -> None:
        for name in ("enter_after", "exit_after"):
            given = getattr(self, name)
            is_count = isinstance(given, int) and not isinstance(given, bool) and given >= 1
            if not is_count and seconds_of(given) is None:
                raise InvalidInput(
                    f"{option(name)} is {given!r:.40}; it counts events, from 1 on, or is a time such as "
                    f"'30 s'{_UNITS}."
                )
            if isinstance(given, timedelta):
                object.__setattr__(self, name, f"{given.total_seconds():f} s")
        if self.dwell is not None and not (_is_number(self.dwell) and 0 <= self.dwell < float("inf")):
            raise InvalidInput(
                f"{option('dwell')} is {self.dwell!r:.40}; it is a number of seconds, from 0 on, or a time such as "
                f"'5 min'{_UNITS}."
            )
        if not isinstance(self.inside, bool):
            raise InvalidInput(f"inside is {self.inside!r:.40}; it is True or False.")

    @property
    def duration(self) -> tuple[str, Any] | None:
        """A rule that is a duration, by name and value; None if all of them count events."""
        if self.dwell is not None:
            return "dwell", self.dwell
        rules = {"enter_after": self.enter_after, "exit_after": self.exit_after}
        return next((one for one in rules.items() if isinstance(one[1], str)), None)

    def has_entered(self, stay: Stay, now: float | None) -> bool:
        """Whether a run of hits counts as an entry."""
        return _is_enough(self.enter_after, stay.hits, stay.since, now)

    def has_left(self, stay: Stay, now: float | None) -> bool:
        """Whether a run of misses counts as an exit."""
        return _is_enough(self.exit_after, stay.misses, stay.missing_since, now)


def _is_enough(rule: int | str | timedelta, events: int, since: float | None, now: float | None) -> bool:
    if isinstance(rule, int):
        return events >= rule
    wanted = seconds_of(rule)
    return wanted is not None and since is not None and now is not None and now - since >= wanted


def seconds_of(span: Any) -> float | None:
    """The seconds in a `timedelta`, or in a text such as "30 s", "5 min" or "2 h"; None for anything else.

    >>> seconds_of("5 min"), seconds_of(timedelta(seconds=2)), seconds_of("soon")
    (300.0, 2.0, None)
    """
    if isinstance(span, timedelta):
        return span.total_seconds() if span > timedelta(0) else None
    found = _SPAN.fullmatch(span) if isinstance(span, str) else None
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def number_of_seconds(given: Any) -> Any:
    """A duration as a number of seconds; anything else as it is.

    >>> number_of_seconds("5 min"), number_of_seconds(30), number_of_seconds("soon")
    (300.0, 30, 'soon')
    """
    seconds = seconds_of(given)
    return given if seconds is None else seconds


_SPACE: Final = r"[ \t\r\n\u00a0\u2009\u202f]*"
_DIGITS: Final = "[0-9]{1,300}"
_SPAN: Final = re.compile(rf"(?=[^1-9]*[1-9]){_SPACE}({_DIGITS}(?:\.{_DIGITS})?){_SPACE}(ms|s|min|h|d){_SPACE}")
SPAN_PATTERN: Final = f"^{_SPAN.pattern}$"
"""The syntax of a duration as a text, for schemas. With that many digits it is above 0, and a float can hold it."""
_SECONDS: Final = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS: Final = f" ({', '.join(_SECONDS)})"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(slots=True)
class Stay:
    """An object's state at a subscription: the current runs of hits and misses, and their start times in seconds."""

    hits: int = 0
    misses: int = 0
    since: float | None = None
    has_entered: bool = False
    has_dwelt: bool = False
    missing_since: float | None = None

    def seconds(self, now: float | None) -> float | None:
        """How long the object has been inside."""
        return None if now is None or self.since is None else max(now - self.since, 0.0)


@dataclass(slots=True)
class Visits:
    """The state of one object: its stays by subscription, its latest event time, and its position if that is kept.

    `began` is the number of the event that started tracking, or restarted it after the object was lost.
    """

    stays: dict[SubscriptionId, Stay] = field(default_factory=dict)
    last: float | None = None
    at: Position | None = None
    began: int = 0

    def move(
        self,
        key: ObjectKey,
        matched: Set[SubscriptionId],
        now: float | None,
        rules: FenceRules,
        passed: Set[SubscriptionId] = frozenset(),
        unknown: Set[SubscriptionId] = frozenset(),
    ) -> Iterator[FenceChange]:
        """Yield the changes that an event causes: exits, then crossings, then the rest, each ordered by subscription.

        `passed` holds the subscriptions that the path from the previous event led through. Those that the object was
        in, or is in now, are not crossings. The event says nothing about the `unknown` subscriptions, so their state is
        unchanged.
        """
        if now is not None:
            self.last = now if self.last is None else max(self.last, now)
        crossed = sorted(passed - matched - self.stays.keys())
        for one in sorted(self.stays.keys() - matched - unknown):
            stay = self.stays[one]
            stay.missing_since = now if stay.misses == 0 else stay.missing_since
            stay.misses += 1
            if not stay.has_entered or rules.has_left(stay, now):
                del self.stays[one]
                if stay.has_entered:
                    yield FenceChange(key, one, EXIT, stay.seconds(now))
        yield from (FenceChange(key, one, CROSS) for one in crossed)
        for one in sorted(matched):
            stay = self.stays.setdefault(one, Stay(since=now))
            stay.hits, stay.misses = stay.hits + 1, 0
            if not stay.has_entered:
                if not rules.has_entered(stay, now):
                    continue
                stay.has_entered = True
                yield FenceChange(key, one, ENTER, stay.seconds(now))
            elif rules.inside:
                yield FenceChange(key, one, INSIDE, stay.seconds(now))
            spent = stay.seconds(now)
            if rules.dwell is not None and not stay.has_dwelt and spent is not None and spent >= rules.dwell:
                stay.has_dwelt = True
                yield FenceChange(key, one, DWELL, spent)

    def turn_back(self, now: float) -> None:
        """Take an earlier date for the latest one, which was wrong; nothing began after it."""
        self.last = now
        for stay in self.stays.values():
            stay.since = None if stay.since is None else min(stay.since, now)
            stay.missing_since = None if stay.missing_since is None else min(stay.missing_since, now)

    def leave(self, key: ObjectKey) -> Iterator[FenceChange]:
        """Yield a `lost` change for each subscription that a forgotten object was in, timed up to its last event."""
        for one in sorted(self.stays):
            if self.stays[one].has_entered:
                yield FenceChange(key, one, LOST, self.stays[one].seconds(self.last))
