"""What an engine is asked: matches of one event, or of a source of events."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.forms import encode_one
from tocsin.encoding import Points
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.matches import Matches
from tocsin.engine.matching import Request, answer_of, answers_of
from tocsin.engine.misnamed import misnamed, no_degrees
from tocsin.engine.named import named_of
from tocsin.engine.notices import notices_of
from tocsin.engine.notices.exchanged import latitude_first
from tocsin.engine.notices.texts import texts_of_all
from tocsin.engine.only import Only, restricted
from tocsin.engine.seen import seen_in
from tocsin.engine.store import Reading, Store
from tocsin.engine.subscription_set import SubscriptionSet
from tocsin.errors import RecordError
from tocsin.index import at_moment
from tocsin.model.instants import given_moment, given_moments, present
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Notice, Row, one_event
from tocsin.model.texts import Text
from tocsin.progress import Progress, reporting
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.schemas import with_schema
from tocsin.segment import Snapshots


class View(NamedTuple):
    """An engine's subscriptions, for those who match events in ways of their own.

    Attributes
    ----------
    store : Store
        Where each subscription is.
    texts : mapping of str to Text
        Attributes of all events that are texts.
    reading : callable
        Holds all subscriptions as they are when it is called, in a `with` statement.
    """

    store: Store
    texts: Mapping[str, Text]
    reading: Callable[[], Reading]


class Questions(SubscriptionSet):
    """Subscriptions that can be matched against events. `Engine` says more."""

    @property
    def view(self) -> View:
        """The subscriptions as `Fences` and other parts of tocsin read them.

        Returns
        -------
        View
            It reads them as they are at any moment.
        """
        return View(self._store, self._texts, self._reading)

    def _reading(self) -> Reading:
        """The sources at this moment. Starts a merge if examining the delta has become too slow."""
        if self._store.delta.is_ripe:
            self._merger.wake()
        return self._store.reading()

    def match(
        self,
        event: Mapping[str, Any] | Row,
        *,
        ranking: Ranking | None = None,
        payload: bool = False,
        named: bool = False,
        only: Only | None = None,
        now: dt.datetime | str | None = None,
    ) -> Matches:
        """Find the subscriptions that one event satisfies.

        Parameters
        ----------
        event : mapping, or row of a pandas frame
            Names and values. Nested objects have dotted names.
        ranking
            As in `tocsin.match`.
        payload : bool
            Whether each match has its subscription's payload, as `.payload`.
        named : bool
            Whether each match tells which named parts of its subscription held, as `.named`.
        only : str or iterable of ids, optional
            Ask a part of the subscriptions alone: those with these ids, or those whose payload, as an event, satisfies
            this condition.
        now : datetime or str, optional
            The present, for `NOW()` in subscriptions; UTC if it has no zone. Default: the moment of the call.

        Returns
        -------
        Matches
            The matches, ordered by id; with a ranking best first.

        Raises
        ------
        RecordError
            If the event as a whole cannot be used.
        InvalidInput
            If the ranking is invalid.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580", payload={"mail": "a@example.org"})
        >>> engine.match({"price": 550}, payload=True)[0].payload
        {'mail': 'a@example.org'}
        """
        if not isinstance(event, Mapping):
            event = one_event(event, "match_batch")
        with self._reading() as snapshots:
            batch = encode_one(0, event, snapshots.wanted)
            batch = with_schema(batch, self._texts) if self._texts else batch
            if not len(batch):
                raise RecordError(batch.rejects[0].reason, batch.rejects[0].field)
            if now is not None or snapshots.wanted.clock:
                batch = at_moment(batch, given_moment(now) or present())
            found = _part(snapshots, only).find(batch, ranking)
            scores = snapshots.scores_of(found.subscriptions) if found.scores is None else found.scores
            parts = named_of(snapshots, batch, found) if named else None
            return Matches(snapshots, found.subscriptions, scores, batch.rejects, with_payloads=payload, named=parts)

    def match_batch(
        self,
        events: Events,
        *,
        ranking: Ranking | None = None,
        lists: bool = False,
        strict: bool = False,
        schema: Mapping[str, ColumnType] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        event_key: str | None = None,
        payload: bool = False,
        named: bool = False,
        only: Only | None = None,
        now: dt.datetime | str | NDArray[np.datetime64] | None = None,
    ) -> Answer:
        """Match a source of events; all of them see one state of the engine.

        Parameters
        ----------
        events
            As in `tocsin.match`.
        ranking
            As in `tocsin.match`.
        lists
            As in `tocsin.match`.
        strict
            As in `tocsin.match`.
        schema
            As in `tocsin.match`.
        threads
            As in `tocsin.match`.
        progress : callable or True, optional
            Called with the share of the events answered so far, or with None if their number is not known. True shows a
            bar.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        event_key
            As in `tocsin.match`.
        payload
            As in `tocsin.match`.
        named
            As in `tocsin.match`.
        only
            As in `tocsin.Engine.match`.
        now : datetime, str or array of datetime64, optional
            The present, for `NOW()` in subscriptions, or an instant for each event, by its row; UTC if it has no zone.
            Default: the moment of the call.

        Returns
        -------
        Answer
            The table of matches. If all events are bad, it has only their errors.

        Raises
        ------
        InvalidInput
            If the source cannot be read, or an option is invalid.
        RecordError
            With `strict`, at the first bad event.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580")
        >>> engine.match_batch([{"order": "x17", "price": 450}], event_key="order").table.to_pylist()
        [{'event': 0, 'event_key': 'x17', 'subscription': 's1'}]
        """
        request = Request(
            *(ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload, named),
            texts=self._texts,
            now=None if now is None else given_moments(now),
        )
        with (
            self._reading() as snapshots,
            nullcontext() if progress is None else reporting(progress, "matching") as share,
        ):
            return answer_of(_part(snapshots, only), events, request, Stats(), [], share)

    def match_batches(
        self,
        events: Events,
        *,
        ranking: Ranking | None = None,
        lists: bool = False,
        strict: bool = False,
        schema: Mapping[str, ColumnType] | None = None,
        threads: int | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        event_key: str | None = None,
        payload: bool = False,
        named: bool = False,
        only: Only | None = None,
        now: dt.datetime | str | None = None,
    ) -> Iterator[Answer]:
        """Match a source of events piece by piece: for answers that do not fit into memory.

        Parameters
        ----------
        events
            As in `tocsin.match`.
        ranking
            As in `tocsin.match`.
        lists
            As in `tocsin.match`.
        strict
            As in `tocsin.match`.
        schema
            As in `tocsin.match`.
        threads
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        event_key
            As in `tocsin.match`.
        payload
            As in `tocsin.match`.
        named
            As in `tocsin.match`.
        only
            As in `tocsin.Engine.match`.
        now
            As in `tocsin.Engine.match`.

        Returns
        -------
        iterator of Answer
            The answers for consecutive pieces of the events. Rows count through the whole source. The warnings of an
            answer are about all events so far.

        Raises
        ------
        InvalidInput
            If the source cannot be read, or an option is invalid.
        RecordError
            With `strict`, at the first bad event.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580")
        >>> prices = ({"price": price} for price in range(100_000))
        >>> sum(len(answer) for answer in engine.match_batches(prices))
        581

        Notes
        -----
        All events see the subscriptions of the moment when the first answer is asked for. An answer has about four
        million matches at most, but always those of at least 64 events. With several threads, a few answers are
        computed ahead.
        """
        request = Request(
            *(ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload, named),
            texts=self._texts,
            now=None if now is None else given_moment(now),
        )
        return self._pieces(events, request, only)

    def _pieces(self, events: Events, request: Request, only: Only | None) -> Iterator[Answer]:
        with self._reading() as snapshots:
            yield from answers_of(_part(snapshots, only), events, request)

    def warnings(
        self,
        events: Events | None = None,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
    ) -> list[Notice]:
        """Warnings about conditions that none of these events satisfied, or that no event can; most affected first.

        Parameters
        ----------
        events : source of events, optional
            A sample of a few thousand events is enough. Default: the warnings come from the subscriptions alone.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.

        Returns
        -------
        list of Notice
            The warnings, empty if there are none.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "colour = 'red'")
        >>> [warning.attribute for warning in engine.warnings([{"color": "red"}])]
        ['colour']

        Notes
        -----
        Cost: linear in subscriptions and events.
        """
        with self._store.reading() as snapshots:
            seen = None if events is None else seen_in(events, snapshots.wanted, schema, delimiter, points, self._texts)
            own = notices_of(snapshots, seen)
            others = [*latitude_first(texts_of_all(snapshots), points, seen), *no_degrees(seen, snapshots.wanted)]
            return [*misnamed(snapshots.wanted, seen, schema=schema, points=points), *others, *own]


def _part(snapshots: Snapshots, only: Only | None) -> Snapshots:
    return snapshots if only is None else restricted(snapshots, only)
