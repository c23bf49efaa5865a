"""What fences need of an engine, and the matching of one event without the tables that a batch needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tocsin.columns.events.batch import EventBatch
from tocsin.encoding import Points, encode_chunk, without_places
from tocsin.engine.answer import Answer
from tocsin.engine.trails import Trail
from tocsin.engine.witness import Witness
from tocsin.model.fence import Followed
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.texts import Text
from tocsin.records import ObjectChunk
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.records.keys import key_in
from tocsin.segment import Snapshots


class FollowedEvent(NamedTuple):
    """What fences need of one event.

    Attributes
    ----------
    key, moment : object
        The values of the attributes that identify the object and tell the time.
    matches : list of str or int, or None
        The ids of the matches; None if the event could not be used.
    passed : list of str or int, or None
        The ids of the subscriptions that match the line from the object's last position.
    rejects : list of Reject
        What is wrong with the event, or with values of it.
    witness : Witness
        Tells whether a subscription that does not match is FALSE or UNKNOWN.
    """

    key: Any
    moment: Any
    matches: list[SubscriptionId] | None
    passed: list[SubscriptionId] | None
    rejects: list[Reject]
    witness: Witness


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
    ) -> tuple[Answer, Witness]:
        """One row per event: its matches as a list, its key, further attributes, and the matches along its trail."""

    def followed_one(self, event: Mapping[str, Any], followed: Followed, trail: Trail | None = None) -> FollowedEvent:
        """The same for one event."""

    def payload(self, id: SubscriptionId) -> Any:
        """The payload of a subscription."""


def follow_one(
    snapshots: Snapshots,
    event: Mapping[str, Any],
    followed: Followed,
    trail: Trail | None,
    witness: Witness,
    texts: Mapping[str, Text],
) -> FollowedEvent:
    """Match one event. `trail` has the last position of its object, with `texts` as the engine's further texts."""
    batches, rejects = encode_chunk(ObjectChunk([(0, event)]), snapshots.wanted, texts)
    batches = [without_places(batch, followed.no_places) for batch in batches]
    rejects = [*rejects, *(reject for batch in batches for reject in batch.rejects)]
    key = key_in(event, followed.key)
    moment = None if followed.time is None else key_in(event, followed.time)
    if not any(map(len, batches)):
        return FollowedEvent(key, moment, None, None, rejects, witness)
    witness.add(batches)
    lines = [] if trail is None else trail.lines(batches, {0: key})[0]
    return FollowedEvent(key, moment, _ids(snapshots, batches), _ids(snapshots, lines), rejects, witness)


def _ids(snapshots: Snapshots, batches: Sequence[EventBatch]) -> list[SubscriptionId]:
    """The ids of all matches of some batches."""
    found = [snapshots.find(batch).subscriptions for batch in batches]
    return [name for places in found if len(places) for name in snapshots.ids_of(places).to_pylist()]
