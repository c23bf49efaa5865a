"""What fences need of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tocsin.encoding import Points
from tocsin.engine.answer import Answer
from tocsin.engine.following import FollowedEvent
from tocsin.engine.seen import Seen
from tocsin.engine.trails import Trail
from tocsin.engine.witness import Witness
from tocsin.model.fence import Followed
from tocsin.model.subscription import SubscriptionId
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events


@runtime_checkable
class Matching(Protocol):
    """What fences need of an engine."""

    def followed(
        self,
        events: Events,
        key: str,
        also: Sequence[str],
        trail: Trail | None,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        strict: bool = False,
        threads: int | None = None,
        no_places: tuple[tuple[float, float], ...] = (),
        seen: Seen | None = None,
    ) -> tuple[Answer, Witness]:
        """One row per event: its matches as a list, its key, further attributes, and the matches along its trail."""

    def followed_one(self, event: Mapping[str, Any], followed: Followed, trail: Trail | None = None) -> FollowedEvent:
        """The same for one event."""

    def columns_read(self, also: Collection[str], *, points: Points | None = None) -> Callable[[str], bool]:
        """Which top-level columns of events are read for the subscriptions, `also` and `points`."""

    def payload(self, id: SubscriptionId) -> Any:
        """The payload of a subscription."""
