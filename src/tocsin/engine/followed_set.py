"""Subscriptions that events are matched against in the way that fences need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tocsin.encoding import Points, with_coordinates
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.following import FollowedEvent, follow_one
from tocsin.engine.matching import Request, answer_of, choice_of
from tocsin.engine.seen import Seen
from tocsin.engine.subscription_set import SubscriptionSet
from tocsin.engine.trails import Trail
from tocsin.engine.witness import Held, Witness
from tocsin.model.fence import Followed
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.segment import Snapshots


class FollowedSet(SubscriptionSet):
    """The subscriptions of an engine, with the matches of events for `Fences`."""

    def _reading(self) -> AbstractContextManager[Snapshots]:
        """The sources at this moment; the engine says how to read them."""
        raise NotImplementedError

    def followed(
        self,
        events: Events,
        key: str,
        also: Sequence[str] = (),
        trail: Trail | None = None,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        strict: bool = False,
        threads: int | None = None,
        no_places: tuple[tuple[float, float], ...] = (),
        seen: Seen | None = None,
    ) -> tuple[Answer, Witness]:
        """Match events for `Fences`: one row per event, with a list of its matches and some of its attributes.

        Parameters
        ----------
        events
            As in `tocsin.match`.
        key : str
            The attribute that identifies objects.
        also : sequence of str
            Further attributes, which become the columns `also_0`, `also_1` and so on.
        trail : Trail, optional
            The objects' last places. The lines from them are matched, too, into the column `passed`.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        strict
            As in `tocsin.match`.
        threads
            As in `tocsin.match`.
        no_places : tuple of pairs of float
            Points that mean "position not known".
        seen : Seen, optional
            What earlier events were like; the warnings are about these, too.

        Returns
        -------
        tuple of (Answer, Witness)
            The answer. For a subscription that does not match, the witness tells whether it is FALSE or UNKNOWN.
        """
        with self._reading() as snapshots:
            witness = Witness(Held.kept_with(self._store, snapshots))
            request = Request(
                lists=True,
                strict=strict,
                schema=schema,
                threads=threads,
                delimiter=delimiter,
                points=points or {},
                event_key=key,
                also=tuple(also),
                texts=self._texts,
                no_places=no_places,
                witness=witness,
                trail=trail,
            )
            return answer_of(snapshots, events, request, Stats(), [], seen=seen), witness

    def followed_one(self, event: Mapping[str, Any], followed: Followed, trail: Trail | None = None) -> FollowedEvent:
        """Match one event for `Fences`.

        Parameters
        ----------
        event : mapping
            Names and values.
        followed : Followed
            The settings of the fences.
        trail : Trail, optional
            The last place of the event's object. The line from it is matched, too.

        Returns
        -------
        FollowedEvent
            The ids of its matches, and what else fences need of it.

        Raises
        ------
        RecordError
            If the event as a whole cannot be used, or has no key.
        """
        with self._reading() as snapshots:
            witness = Witness(Held.kept_with(self._store, snapshots))
            return follow_one(snapshots, event, followed, trail, witness, self._texts)

    def columns_read(self, also: Collection[str] = (), *, points: Points | None = None) -> Callable[[str], bool]:
        """Which top-level columns of events a match reads.

        Parameters
        ----------
        also : collection of str
            Further attributes to read.
        points
            As in `tocsin.match`.

        Returns
        -------
        callable
            Whether a column of a name is read.
        """
        with self._reading() as snapshots:
            return choice_of(with_coordinates(snapshots.wanted, points or {}), also)
