"""Matching of one event for fences, without the tables that a batch needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.columns.events.batch import EventBatch
from tocsin.encoding import encode_chunk, without_places
from tocsin.engine.trails import Trail
from tocsin.engine.witness import Witness
from tocsin.errors import RecordError
from tocsin.model.fence import Followed, problem_of
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.texts import Text
from tocsin.records import ObjectChunk
from tocsin.records.keys import key_in
from tocsin.segment import Snapshots


class FollowedEvent(NamedTuple):
    """What fences need of one event.

    Attributes
    ----------
    key, moment : object
        The values of the attributes that identify the object and tell the time.
    matches : list of str or int
        The ids of the matches.
    passed : list of str or int
        The ids of the subscriptions that match the line from the object's last position.
    rejects : list of Reject
        The event's values that could not be used.
    witness : Witness
        Tells whether a subscription that does not match is FALSE or UNKNOWN.
    """

    key: Any
    moment: Any
    matches: list[SubscriptionId]
    passed: list[SubscriptionId]
    rejects: list[Reject]
    witness: Witness


def follow_one(
    snapshots: Snapshots,
    event: Mapping[str, Any],
    followed: Followed,
    trail: Trail | None,
    witness: Witness,
    texts: Mapping[str, Text],
) -> FollowedEvent:
    """Match one event; raises `RecordError` if it cannot be used or has no key.

    `trail` has the last position of its object; `texts` are the engine's further texts.
    """
    batches, rejects = encode_chunk(ObjectChunk([(0, event)]), snapshots.wanted, texts)
    batches = [without_places(batch, followed.no_places) for batch in batches]
    rejects = [*rejects, *(reject for batch in batches for reject in batch.rejects)]
    key = key_in(event, followed.key)
    moment = None if followed.time is None else key_in(event, followed.time)
    if not any(map(len, batches)):
        raise RecordError(rejects[0].reason, rejects[0].field)
    if reason := problem_of(key, followed.key):
        raise RecordError(reason, followed.key)
    witness.add(batches)
    lines = [] if trail is None else trail.lines(batches, {0: key})[0]
    return FollowedEvent(key, moment, _ids(snapshots, batches), _ids(snapshots, lines), rejects, witness)


def _ids(snapshots: Snapshots, batches: Sequence[EventBatch]) -> list[SubscriptionId]:
    """The ids of all matches of some batches."""
    found = [snapshots.find(batch).subscriptions for batch in batches]
    return [name for places in found if len(places) for name in snapshots.names_of(places)]
