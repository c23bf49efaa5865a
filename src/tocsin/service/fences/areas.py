"""The subscriptions of fences. Each fence has an engine in memory with those that name it, and with no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tocsin.engine import Engine
from tocsin.model.subscription import SubscriptionId
from tocsin.model.texts import Text
from tocsin.service.fragments import fragment


class Area(NamedTuple):
    """A subscription, and the fence that it names; None if it names none, or was removed."""

    id: SubscriptionId
    fence: int | None = None  # its number
    where: str = ""
    score: float = 1.0
    payload: str | None = None  # JSON


class Areas:
    """The subscriptions of all fences, by the number of the fence."""

    def __init__(self, texts: Mapping[str, Text]) -> None:
        self._texts = texts
        self.engines: dict[int, Engine] = {}
        self._fence_of: dict[SubscriptionId, int] = {}
        self._told: dict[SubscriptionId, str] = {}  # what deliveries have of each: JSON without its end

    def __bool__(self) -> bool:
        """Whether there is a fence."""
        return bool(self.engines)

    def add(self, fence: int) -> Engine:
        """Begin a fence without subscriptions."""
        one = self.engines[fence] = Engine(texts=self._texts)
        return one

    def remove(self, fence: int) -> None:
        """Forget a fence, which no subscription names."""
        del self.engines[fence]

    def count(self, fence: int) -> int:
        """How many subscriptions name a fence."""
        return len(self.engines[fence])

    def told(self, id: SubscriptionId) -> str | None:
        """A subscription as JSON, without the closing brace; None if it names no fence any more."""
        return self._told.get(id)

    def place(self, areas: Iterable[Area]) -> None:
        """Put subscriptions into the engines of their fences, and take them out of others."""
        new: dict[int, list[dict[str, object]]] = {}
        for one in areas:
            before = self._fence_of.pop(one.id, None)
            if before is not None and before != one.fence:
                self.engines[before].unsubscribe(one.id)
                del self._told[one.id]
            if one.fence is not None:
                self._fence_of[one.id] = one.fence
                self._told[one.id] = fragment(one.id, one.score, one.payload)[:-1]
                new.setdefault(one.fence, []).append({"id": one.id, "where": one.where})
        for fence, records in new.items():
            self.engines[fence].subscribe_many(records, replace=True, strict=True)
