"""Matches of the events that fences follow, with what tells FALSE from UNKNOWN, and the lines between events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import Points, encode_chunk, with_coordinates, without_places
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.matching import Request, answer_of, choice_of
from tocsin.engine.questions import View
from tocsin.engine.seen import Seen
from tocsin.errors import RecordError
from tocsin.model.fence import Followed, problem_of
from tocsin.model.subscription import Notice, Reject, SubscriptionId
from tocsin.monitor.fences.accuracies import radius_of
from tocsin.monitor.fences.notes import pathless
from tocsin.monitor.fences.trails import Trail
from tocsin.monitor.witness import Held, Witness
from tocsin.records import ObjectChunk
from tocsin.records.events import Events
from tocsin.records.keys import key_in, key_values
from tocsin.segment import Snapshots


@runtime_checkable
class Matching(Protocol):
    """What fences need of an engine."""

    @property
    def view(self) -> View:
        """Its subscriptions, at any moment."""

    def payload(self, id: SubscriptionId) -> Any:
        """The payload of a subscription."""


class Observation:
    """The events of one call, as `Request.observer`: kept for the witness, and joined by lines with a trail."""

    key_option = "key"

    def __init__(self, witness: Witness, trail: Trail | None) -> None:
        self.has_lines = trail is not None
        self._witness, self._trail = witness, trail

    def see(self, batches: Sequence[EventBatch]) -> None:
        """Keep some events."""
        self._witness.add(batches)

    def lines(self, batches: Sequence[EventBatch], keys: Mapping[int, Any]) -> tuple[list[EventBatch], list[int]]:
        """The events of moved objects with lines as places, and their rows."""
        return ([], []) if self._trail is None else self._trail.lines(batches, keys)

    def notices(self, wanted: Wanted, seen: Seen) -> Iterable[Notice]:
        """A warning if there is a trail without points."""
        if self._trail is None or self._trail.has_points:
            return ()
        return pathless(wanted, seen, self._trail.path)


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


def matches_of(
    view: View,
    events: Events,
    followed: Followed,
    also: Sequence[str],
    trail: Trail | None,
    request: Request,
    seen: Seen | None,
) -> tuple[Answer, Witness]:
    """Match a source of events. The answer has a row for each event, with a list of its matches.

    `also` are further attributes for the columns `also_0`, `also_1` and so on; the column behind them may have the
    accuracy. With a trail, the lines from the objects' last places are matched, too, into the column `passed`.
    `request` says how to read and match; `seen` is that of earlier events, for the warnings. For a subscription that
    does not match, the witness tells whether it is FALSE or UNKNOWN.
    """
    attributes = (*also, *(() if followed.accuracy is None else (followed.accuracy,)))
    with view.reading() as snapshots:
        witness = Witness(Held.kept_with(view.store, snapshots))
        request = replace(
            request,
            lists=True,
            event_key=followed.key,
            also=attributes,
            no_places=followed.no_places,
            texts=view.texts,
            observer=Observation(witness, trail),
        )
        answer = answer_of(snapshots, events, request, Stats(), [], seen=seen)
    if followed.accuracy is not None:
        metres = map(radius_of, key_values(answer.table[f"also_{len(also)}"]))
        radii = zip(key_values(answer.table["event"]), metres, strict=True)
        witness.radii.update((row, radius) for row, radius in radii if radius is not None)
    return answer, witness


def columns_read(view: View, also: Collection[str], points: Points | None) -> Callable[[str], bool]:
    """Which top-level columns of events a match reads, besides the attributes of `also`."""
    with view.reading() as snapshots:
        return choice_of(with_coordinates(snapshots.wanted, points or {}), also)


def match_one(view: View, event: Mapping[str, Any], followed: Followed, trail: Trail | None) -> FollowedEvent:
    """Match one event without the tables that a batch needs.

    `trail` has the last place of its object. Raises `RecordError` if the event cannot be used or has no key.
    """
    with view.reading() as snapshots:
        witness = Witness(Held.kept_with(view.store, snapshots))
        batches, rejects = encode_chunk(ObjectChunk([(0, event)]), snapshots.wanted, view.texts)
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
