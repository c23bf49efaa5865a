"""How often subscriptions matched published events since the server started, and when last.

Counts are made on the committing thread, once the events are durable, so that they agree with the metrics. They are in
memory only: a write for each match would cost more than the match.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tocsin.model.subscription import SubscriptionId
from tocsin.service.times import now_ms

_IN_FLIGHT_S: Final = 60.0
"""An event that was matched before a subscription was removed is durable within this time."""


class Active(NamedTuple):
    """A subscription that matched: how often, and when last, in milliseconds since 1970."""

    id: SubscriptionId
    matches: int
    last: int


class Activity:
    """The counts of all subscriptions that matched. The committing thread changes them, others read."""

    def __init__(self) -> None:
        self.since = now_ms()
        self._counts = Counter[SubscriptionId]()
        self._last = dict[SubscriptionId, int]()
        self._removed = dict[SubscriptionId, float]()
        self._lock = threading.Lock()

    def count(self, matched: Iterable[Sequence[SubscriptionId]], moment: int) -> None:
        """Count the subscriptions of some events."""
        ids = list(itertools.chain.from_iterable(matched))
        with self._lock:
            if self._removed:
                ids = [one for one in ids if one not in self._removed]
            self._counts.update(ids)
            self._last.update(dict.fromkeys(ids, moment))

    def forget(self, id: SubscriptionId) -> None:
        """Forget a subscription that was removed. Events that matched it before may still come to be counted."""
        with self._lock:
            self._counts.pop(id, None)
            self._last.pop(id, None)
            now = time.monotonic()
            while self._removed and now - next(iter(self._removed.values())) > _IN_FLIGHT_S:
                del self._removed[next(iter(self._removed))]
            self._removed.pop(id, None)
            self._removed[id] = now

    def known(self, id: SubscriptionId) -> None:
        """A subscription is there, perhaps again."""
        if self._removed:
            with self._lock:
                self._removed.pop(id, None)

    def __len__(self) -> int:
        """How many subscriptions matched."""
        return len(self._counts)

    def __contains__(self, id: SubscriptionId) -> bool:
        return id in self._counts

    def of(self, id: SubscriptionId) -> Active | None:
        """How often a subscription matched; None if it did not."""
        with self._lock:
            return Active(id, self._counts[id], self._last[id]) if id in self._counts else None

    def busiest(self, count: int) -> list[Active]:
        """The subscriptions with the most matches. Those with equal counts are in the order of their last matches."""
        with self._lock:
            all_of_them = [Active(id, matches, self._last[id]) for id, matches in self._counts.items()]
        return heapq.nlargest(count, all_of_them, key=lambda one: (one.matches, one.last))
