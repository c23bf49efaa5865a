"""A stream of events of many objects, late ones among them, and the changes that each event and each advance tells.

After every call all changes of all objects are worked out anew, from all events so far. What was told before must be
the beginning of it; the rest is the answer.

An object has a *frontier*: no event before it can still come. Events older than it are late. Events up to it are
processed, in order of their instants, and of equal instants in order of arrival. Later events are held back. What
time alone changes is told up to and including the frontier.

Decisions where the contract says nothing:

1. Without a `lateness` each object has a time of its own, as in fences: the latest of its events and of `advance`.
   Events of other objects do not move it.
2. With a `lateness`, also one of 0, all objects share a clock: the latest instant of any event, and of `advance`. The
   frontier is so long before it. An event exactly at the frontier is not late.
3. `advance` moves the clock, not the frontier: with a lateness of 30 s, an advance to 12:00:30 tells what changed up
   to 12:00:00. An advance to the past does nothing.
4. An event that is more than `far` after the shared clock moves its own object only. The first event starts the clock.
   A far instant does not become credible later. `advance` may go as far as it likes.
5. An event is late for its object, so with several keys it may be late for some subscriptions only; it counts once.
6. An object is the value of each attribute of the key, each a number or a string; 5 and "5" are two. An event that
   lacks one of a subscription's keys does not exist for this subscription. It is an error if it has no key at all.
7. With `time`, an event without a readable one is ignored and counted. Numbers are seconds since 1970.
8. Changes of one call are in the order of their instants. At one instant, those by time come first, then those of
   events in order of arrival. Within either, exits come first, then the order is that of subscriptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tests.naive.flatten import Flat, flatten
from tests.naive.instants import moment_of
from tests.naive.over_time import SECOND, Condition, Event, History
from tests.naive.over_time_changes import Options, Turn, steps, turns
from tocsin.model.values import Instant

Key: TypeAlias = tuple[str, ...]
Object: TypeAlias = tuple[float | str, ...]


_PLAIN: Final = Options()


class Subscription(NamedTuple):
    """A condition; `by` is its own key, else it has the monitor's."""

    id: str
    condition: Condition
    by: Key | None = None


class Change(NamedTuple):
    """A change at an instant. `event` is the number of the event that made it, None if time alone did."""

    at: int
    event: int | None
    object: Object
    subscription: str
    change: str
    seconds: float


class _Arrival(NamedTuple):
    at: int
    number: int
    values: Flat


class NaiveMonitor:
    """Follows objects. `lateness` and `far` are in microseconds; `every` tries each microsecond between events."""

    def __init__(
        self,
        subscriptions: Sequence[Subscription],
        key: Key,
        time: str | None = None,
        *,
        lateness: int | None = None,
        far: int | None = None,
        options: Options = _PLAIN,
        every: bool = False,
    ) -> None:
        self.subscriptions = [s if s.by is not None else s._replace(by=key) for s in subscriptions]
        self.keys = dict.fromkeys([key, *(s.by for s in self.subscriptions if s.by is not None)])
        self.time, self.lateness, self.far = time, lateness, far
        self.options, self.every = options, every
        self.pushed = self.late = self.without_time = self.without_key = self.far_ahead = 0
        self.clock: int | None = None
        self._arrivals: dict[tuple[Key, Object], list[_Arrival]] = {}
        self._latest: dict[tuple[Key, Object], int] = {}
        self._told: dict[tuple[str, Object], list[Turn]] = {}

    def push(self, record: Mapping[str, object], arrived: int | None = None) -> list[Change]:
        """Takes an event; `arrived` is when, in microseconds, for a monitor without `time`."""
        values, _ = flatten(record)
        number, self.pushed = self.pushed, self.pushed + 1
        at = arrived if self.time is None else _microseconds(values.get(self.time))
        objects = [(key, found) for key in self.keys if (found := _object(values, key)) is not None]
        if at is None or not objects:
            self.without_time += at is None
            self.without_key += not objects
            return []
        on_time = [each for each in objects if not self._is_late(each, at)]
        self.late += len(on_time) < len(objects)
        for each in on_time:
            self._arrivals.setdefault(each, []).append(_Arrival(at, number, values))
            self._latest[each] = max(at, self._latest.get(each, at))
        if on_time and self.lateness is not None:
            self._move(at)
        return self._news()

    def advance(self, instant: int) -> list[Change]:
        """Lets time pass without an event."""
        self.clock = instant if self.clock is None else max(self.clock, instant)
        return self._news()

    def matches(self, subscription: str) -> list[int]:
        """The numbers of the processed events at which a subscription is TRUE, of all objects."""
        matching = []
        for each in self._arrivals:
            processed, history = self._processed(each)
            for s in self.subscriptions:
                if s.id == subscription and s.by == each[0]:
                    truths = [history.truth(s.condition, n) for n in range(len(processed))]
                    matching += [a.number for a, truth in zip(processed, truths, strict=True) if truth]
        return sorted(matching)

    def _move(self, at: int) -> None:
        if self.far is not None and self.clock is not None and at > self.clock + self.far:
            self.far_ahead += 1
        else:
            self.clock = at if self.clock is None else max(self.clock, at)

    def _frontier(self, each: tuple[Key, Object]) -> int | None:
        known = [at for at in (self.clock, self._latest.get(each)) if at is not None]
        return max(known) - (self.lateness or 0) if known else None

    def _is_late(self, each: tuple[Key, Object], at: int) -> bool:
        frontier = self._frontier(each)
        return frontier is not None and at < frontier

    def _processed(self, each: tuple[Key, Object]) -> tuple[list[_Arrival], History]:
        frontier = self._frontier(each)
        arrivals = [a for a in self._arrivals[each] if frontier is not None and a.at <= frontier]
        arrivals.sort(key=lambda a: (a.at, a.number))
        return arrivals, History([Event(a.at, a.values) for a in arrivals])

    def _news(self) -> list[Change]:
        """All that was not told yet; what was told must still hold."""
        news: list[Change] = []
        for each in self._arrivals:
            key, of = each
            processed, history = self._processed(each)
            frontier = self._frontier(each)
            assert frontier is not None
            for subscription in self.subscriptions:
                if subscription.by != key:
                    continue
                known = steps(subscription.condition, history, frontier, self.every)
                changes = turns(known, frontier, self.options)
                told = self._told.setdefault((subscription.id, of), [])
                assert changes[: len(told)] == told
                for turn in changes[len(told) :]:
                    number = None if turn.event is None else processed[turn.event].number
                    news.append(Change(turn.at, number, of, subscription.id, turn.change, turn.seconds))
                told[:] = changes
        return sorted(news, key=_place)


def _place(change: Change) -> tuple[int, int, bool, str, list[tuple[bool, float | str]]]:
    number = -1 if change.event is None else change.event
    of = [(isinstance(part, str), part) for part in change.object]
    return change.at, number, change.change != "exit", change.subscription, of


def _microseconds(value: object) -> int | None:
    moment = moment_of(value) if isinstance(value, str) else value
    if isinstance(moment, Instant):
        return moment.microseconds
    return round(moment * SECOND) if type(moment) is float else None


def _object(values: Flat, key: Key) -> Object | None:
    parts = [values.get(name) for name in key]
    kept = tuple(part for part in parts if isinstance(part, str) or type(part) is float)
    return kept if len(kept) == len(parts) else None
