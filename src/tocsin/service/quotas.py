"""What a tenant has used of its limits. All of this runs in the event loop."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tocsin.engine.durable.engine import DurableEngine
from tocsin.model.values import size_of
from tocsin.service.bodies import json_text
from tocsin.service.limits import Limits
from tocsin.service.problems import Problem, disk_full, invalid

_BURST_S: Final = 10.0
"""How many seconds of events may come at once, unless a burst is set."""
_LATER_S: Final = 60
"""When to try again where only a deletion helps."""
_MOST_WAIT_S: Final = 3600
_STEADY_S: Final = 5.0
"""A disk must have had room for so long. While retention frees it, some changes find room, and others do not."""


class Bucket:
    """A token bucket. What is taken while it has something may overdraw it, so that a bulk is taken whole."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._size = rate, max(burst, 1.0)
        self._left, self._at = self._size, time.monotonic()

    def take(self, count: int) -> float:
        """Take some; returns 0, or after how many seconds there is something again."""
        now = time.monotonic()
        self._left = min(self._size, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= count
        return 0.0


class Quotas:
    """The limits of a tenant, and what counts towards them."""

    def __init__(self, limits: Limits, engine: DurableEngine) -> None:
        self._limits, self._engine = limits, engine
        self._bucket = _bucket_of(limits)
        self.others: Callable[[], int] = lambda: 0  # subscriptions of windows
        self._coming = 0  # subscriptions whose commit is under way
        self._coming_bytes = 0  # of their payloads and conditions
        self._engine_bytes, self._looked_at = engine._text_bytes(), engine.sequence  # as of the last look
        self._recent_bytes = 0  # of payloads and conditions that came since
        self.others_bytes: Callable[[], int] = lambda: 0  # of payloads of windows
        self.store_bytes = 0  # as of the last look
        self._full_until = -math.inf  # by the monotonic clock
        self.refused: Counter[str] = Counter()

    def limit(self, limits: Limits) -> None:
        """Use other limits from now on. What came before counts, but events only if their rate stays."""
        if (limits.events_per_s, limits.burst) != (self._limits.events_per_s, self._limits.burst):
            self._bucket = _bucket_of(limits)
        self._limits = limits

    def events(self, count: int) -> None:
        """Raise a `Problem` if too many events came lately."""
        wait = 0.0 if self._bucket is None else self._bucket.take(count)
        if wait:
            limit = f"{self._limits.events_per_s:g} events a second are allowed"
            raise self._refused("events_per_s", limit, wait)

    @property
    def is_disk_full(self) -> bool:
        """Whether the disk is full, or was a moment ago, so that nothing may take the room that retention needs."""
        return time.monotonic() < self._full_until

    def look_at_disk(self, *, is_full: bool) -> None:
        """Note whether the disk is full now."""
        if is_full:
            self._full_until = time.monotonic() + _STEADY_S

    def stored(self) -> None:
        """Raise a `Problem` if the store, or the disk, is full."""
        if self.is_disk_full:
            raise disk_full()
        if self.store_bytes >= self._limits.store_bytes:
            limit = f"the store has the {self._limits.store_bytes / 2**30:g} GB that are allowed"
            raise self._refused("store_gb", f"{limit}; delete something, or wait until events are too old", _LATER_S)

    def streams(self, count: int) -> None:
        """Raise a `Problem` if so many streams and waiting pulls are open that there is no room for another one."""
        if count >= self._limits.streams:
            raise self._refused("streams", f"{self._limits.streams:,g} streams are open", 5)

    def another(self, what: str, count: int) -> None:
        """Raise a `Problem` if there are so many windows, or fences, that there is no room for another one."""
        most = getattr(self._limits, what)
        if count >= most:
            raise self._refused(what, f"{most:,g} {what} are allowed; delete one", _LATER_S)

    async def look(self, run: Callable[[Callable[[], int]], Awaitable[int]]) -> None:
        """Look how much the payloads and conditions take. What is added meanwhile counts, too."""
        sequence, recent = self._engine.sequence, self._recent_bytes
        if sequence != self._looked_at:
            self._engine_bytes, self._looked_at = await run(self._engine._text_bytes), sequence
        self._recent_bytes -= recent

    @property
    def payloads_bytes(self) -> int:
        """The bytes of the payloads and conditions of subscriptions, about."""
        return self._engine_bytes + self._recent_bytes + self.others_bytes()

    @contextmanager
    def room(self, count: int, engine_bytes: int = 0, window_bytes: int = 0) -> Iterator[None]:
        """Keep room for new subscriptions while they are committed; raises a `Problem` if there is none.

        The bytes are those of payloads and conditions, also of subscriptions that replace others.
        """
        most, size = self._limits.payloads_bytes, engine_bytes + window_bytes
        if self.payloads_bytes + self._coming_bytes + size > most:
            limit = f"{most / 2**20:,g} MB of payloads and conditions are allowed, and there are"
            detail = f"{limit} {self.payloads_bytes / 2**20:,.1f}; remove subscriptions, or make payloads smaller"
            raise self._refused("payloads_mb", detail, _LATER_S)
        there = len(self._engine) + self.others()
        if count and there + self._coming + count > self._limits.subscriptions:
            limit = f"{self._limits.subscriptions:,g} subscriptions are allowed, and there are {there:,}"
            raise self._refused("subscriptions", f"{limit}; remove some", _LATER_S)
        self._coming += count
        self._coming_bytes += size
        try:
            yield
            self._recent_bytes += engine_bytes  # until the next look; those of windows are counted already
        finally:
            self._coming -= count
            self._coming_bytes -= size

    def _refused(self, limit: str, detail: str, wait: float) -> Problem:
        self.refused[limit] += 1
        seconds = min(math.ceil(wait), _MOST_WAIT_S)
        return Problem(429, "quota", detail, headers={"Retry-After": str(seconds)}, limit=limit)


def _bucket_of(limits: Limits) -> Bucket | None:
    burst = limits.events_per_s * _BURST_S if math.isinf(limits.burst) else limits.burst
    return None if math.isinf(limits.events_per_s) else Bucket(limits.events_per_s, burst)


def require_small(payload: Any, limits: Limits) -> int:
    """The size of a payload as JSON; raises a `Problem` if it is too large."""
    size = 0 if payload is None else size_of(json_text(payload, "payload"))
    if size > limits.payload_bytes:
        detail = f"the payload has {size:,} bytes as JSON, and {limits.payload_bytes:,.0f} are allowed"
        raise invalid(detail, field="payload", limit="payload_kb")
    return size


def require_cheap(cost: int, limits: Limits) -> None:
    """Raise a `Problem` for a subscription that costs too much."""
    if cost > limits.subscription_cost:
        raise invalid(too_expensive(cost, limits), field="where", cost=cost, limit="subscription_cost")


def too_expensive(cost: int, limits: Limits) -> str:
    """Why a subscription that costs too much is refused."""
    return f"the condition costs {cost:,}, and {limits.subscription_cost:,g} is allowed; see the prices of docs"
