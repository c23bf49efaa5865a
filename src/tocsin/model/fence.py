"""What happens between an object and a subscription that its events satisfy now and then? It enters, dwells, exits."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from tocsin.errors import InvalidInput
from tocsin.model.subscription import SubscriptionId

ENTER: Final = "enter"
INSIDE: Final = "inside"
DWELL: Final = "dwell"
EXIT: Final = "exit"
CROSS: Final = "cross"
LOST: Final = "lost"

ObjectKey: TypeAlias = str | int | float | bool
Position: TypeAlias = tuple[float, float]


def plain_key(key: Any) -> ObjectKey:
    """A key as JSON has it: instants and the like as texts."""
    return key if isinstance(key, str | int | float | bool) else str(key)


class FenceChange(NamedTuple):
    """What became of an object at a subscription.

    `change` is enter, inside, dwell, exit, cross or lost; `seconds` how long the object had been inside by then, None
    where that is not known.
    """

    object: ObjectKey
    subscription: SubscriptionId
    change: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class FenceRules:
    """When a change is one.

    An object enters with its `enter_after`-th event in a row that satisfies the subscription, and exits with the
    `exit_after`-th that does not; so one odd position in between is no exit. It dwells once it has been inside for
    `dwell` seconds. `inside` reports every further event within.

    >>> FenceRules(exit_after=0)
    Traceback (most recent call last):
    ...
    tocsin.errors.InvalidInput: exit_after is 0; it counts events, from 1 on.
    """

    enter_after: int = 1
    exit_after: int = 1
    dwell: float | None = None
    inside: bool = False

    def __post_init__(self) -> None:
        for name in ("enter_after", "exit_after"):
            count = getattr(self, name)
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise InvalidInput(f"{name} is {count!r:.40}; it counts events, from 1 on.")
        if self.dwell is not None and not (_is_number(self.dwell) and 0 <= self.dwell < float("inf")):
            raise InvalidInput(f"dwell is {self.dwell!r:.40}; it is a number of seconds, from 0 on.")
        if not isinstance(self.inside, bool):
            raise InvalidInput(f"inside is {self.inside!r:.40}; it is True or False.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(slots=True)
class Stay:
    """An object at a subscription: events in a row that satisfied it, or did not; and since when, in seconds."""

    hits: int = 0
    misses: int = 0
    since: float | None = None
    has_entered: bool = False
    has_dwelt: bool = False

    def seconds(self, now: float | None) -> float | None:
        """How long it has been there; events that come late do not make it less than nothing."""
        return None if now is None or self.since is None else max(now - self.since, 0.0)


@dataclass(slots=True)
class Visits:
    """Where one object is: its stays by subscription, the latest time of its events, and its place where that is kept.

    `began` is the number of the event with which it came, or came again after it was lost.
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
    ) -> Iterator[FenceChange]:
        """What an event changes: what it leaves first, then what it crossed, then what it is in, each by subscription.

        `passed` is what its way from the event before led through. What it was in, or is in, it has not crossed.
        """
        if now is not None:
            self.last = now if self.last is None else max(self.last, now)
        crossed = sorted(passed - matched - self.stays.keys())
        for one in sorted(self.stays.keys() - matched):
            stay = self.stays[one]
            stay.misses += 1
            if not stay.has_entered or stay.misses >= rules.exit_after:
                del self.stays[one]
                if stay.has_entered:
                    yield FenceChange(key, one, EXIT, stay.seconds(now))
        yield from (FenceChange(key, one, CROSS) for one in crossed)
        for one in sorted(matched):
            stay = self.stays.setdefault(one, Stay(since=now))
            stay.hits, stay.misses = stay.hits + 1, 0
            if not stay.has_entered:
                if stay.hits < rules.enter_after:
                    continue
                stay.has_entered = True
                yield FenceChange(key, one, ENTER, stay.seconds(now))
            elif rules.inside:
                yield FenceChange(key, one, INSIDE, stay.seconds(now))
            spent = stay.seconds(now)
            if rules.dwell is not None and not stay.has_dwelt and spent is not None and spent >= rules.dwell:
                stay.has_dwelt = True
                yield FenceChange(key, one, DWELL, spent)

    def leave(self, key: ObjectKey) -> Iterator[FenceChange]:
        """What an object that is given up was in; how long is known up to its last event."""
        for one in sorted(self.stays):
            if self.stays[one].has_entered:
                yield FenceChange(key, one, LOST, self.stays[one].seconds(self.last))
