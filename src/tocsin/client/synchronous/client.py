# Made by scripts/synchronous_client.py from asynchronous/client.py: change that file, then run: make client
"""A client of the service for programs that block."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tocsin.client import calls, conversations, uploads
from tocsin.client.calls import Event, Matched, Published
from tocsin.client.conversations import pages
from tocsin.client.synchronous.hosting import Hosting
from tocsin.errors import UnknownSubscription
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Match, Removal, Report, Row, SubscriptionId, one_event
from tocsin.progress import Progress
from tocsin.records.events import Events
from tocsin.records.subscriptions import Subscriptions


class Client(Hosting):
    """A client of a service that `tocsin serve` runs. Its calls have the names of `Engine`. Threads may share it.

    Requests are sent again after failures that may pass, unless that could change something twice.

    Parameters
    ----------
    url : str
        Where the service is, such as `"http://127.0.0.1:8470"`.
    token : str, optional
        The token of `tocsin token create`, if the service has tokens.
    timeout_s : float, default 10
        Seconds to connect, and to send a request. An answer may take a minute longer.
    retry_s : float, default 30
        How long a request is sent again after failures that may pass, in seconds; 0 sends it once.

    Raises
    ------
    InvalidInput
        If `url` is not one.
    MissingExtra
        If httpx is not installed: `pip install 'tocsin[service]'`.

    Examples
    --------
    With a service that runs:

        import tocsin

        with tocsin.Client("http://127.0.0.1:8470") as client:
            client.put_destination("mobile")
            client.subscribe("s1", "price <= 580", destination="mobile")
            client.publish({"price": 550})
            for delivery in client.deliveries("mobile", wait_s=0):
                print(delivery.event, [match.subscription for match in delivery.subscriptions])

    Notes
    -----
    Every call raises `ServiceError` if the service refuses it or cannot be reached. Values that cannot be used, and ids
    that are unknown or taken, are the errors that `Engine` raises.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 10.0, retry_s: float = 30.0) -> None:
        super().__init__(url, token, timeout_s, retry_s)

    # Subscriptions

    def subscribe(
        self,
        id: SubscriptionId,
        where: str | Mapping[str, Any],
        *,
        language: str | None = None,
        score: float = 1.0,
        payload: Any = None,
        weights: Mapping[str, float] | None = None,
        replace: bool = False,
        destination: str | None = None,
        fence: str | None = None,
        throttle_s: float | None = None,
        paused_until: str | None = None,
        expires_at: str | None = None,
    ) -> int:
        """Add a subscription; it is durable when the call returns.

        Parameters
        ----------
        id : str or int
            The id.
        where : str or mapping
            The condition: CQL2 text or JSON, or a rule of another system.
        language : str, optional
            The language of a rule of another system, such as `eventbridge`.
        score : float, default 1
            For rankings.
        payload : JSON value, optional
            What deliveries and matches carry.
        weights : mapping, optional
            The weights of attributes, for `Relaxed`.
        replace : bool, default False
            Replace a subscription with this id.
        destination : str, optional
            Where its matches are delivered. Without one they are counted.
        fence : str, optional
            A fence: changes of its objects are delivered instead of matches.
        throttle_s : float, optional
            It is told of at most one match in so many seconds.
        paused_until, expires_at : str, optional
            Until, and from, this time its matches are not delivered: RFC 3339, such as `"2026-01-31T12:00:00Z"`.

        Returns
        -------
        int
            The number of the change.

        Raises
        ------
        DuplicateSubscription
            If the id is taken, and `replace` is not given.
        RecordError
            If the condition, or another value, cannot be used.
        """
        return self._ask(
            calls.subscribe(
                id, replace=replace, where=where, language=language, score=score, payload=payload,
                weights=weights and dict(weights),
                destination=destination, fence=fence, throttle_s=throttle_s, paused_until=paused_until,
                expires_at=expires_at,
            )
        )  # fmt: skip

    def subscribe_many(
        self, source: Subscriptions, *, replace: bool = False, progress: Progress | None = None
    ) -> Report:
        """Add all subscriptions of a source. A bad record is reported, and the others are added.

        Parameters
        ----------
        source : source of subscriptions
            Any that `tocsin.Engine.subscribe_many` accepts: mappings, a path, JSON, a table or a data frame. A record
            may also have what `subscribe` takes, such as `destination`.
        replace : bool, default False
            Replace existing subscriptions, and keep the last of several with one id. Otherwise the first is kept, and
            existing ones stay.
        progress : callable or True, optional
            Called with the share of the source that was sent, or with None if its size is not known. True shows a bar.

        Returns
        -------
        Report
            How many were accepted, the rejects by row, and a warning about records that a later one replaced.

        Notes
        -----
        Requests are cut to the size that the service takes. Each is one transaction. After an error in the middle, its
        message says how many records were sent; with `replace=True` the call may be repeated.
        """
        whole = uploads.subscriptions(source, "/v1/subscriptions", replace=replace, progress=progress)
        return self._only(whole)

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id : str or int
            Its id.

        Raises
        ------
        UnknownSubscription
            If there is none.
        """
        self._ask(calls.unsubscribe(id))

    def unsubscribe_many(
        self, ids: Iterable[SubscriptionId] | None = None, *, only: str | None = None, dry_run: bool = False
    ) -> Removal:
        """Remove many subscriptions: those with some ids, or those whose payload satisfies a condition.

        Parameters
        ----------
        ids : iterable of str or int, optional
            The ids.
        only : str, optional
            A condition on payloads instead, as in `tocsin.Engine.unsubscribe_many`.
        dry_run : bool, default False
            Count only, and remove nothing.

        Returns
        -------
        Removal
            How many were removed, and the ids that no subscription has.

        Raises
        ------
        InvalidInput
            If neither `ids` nor `only` is given, or both are.
        RecordError
            If an id, or the condition, cannot be used.

        Notes
        -----
        The service removes 10,000 subscriptions in a transaction, or 50 that are named by their ids. After an error in
        the middle, some are removed; the next call removes the others.
        """
        return self._only(conversations.removals(ids, only, dry_run=dry_run))

    def rescore(self, id: SubscriptionId, score: float) -> None:
        """Change a score.

        Parameters
        ----------
        id : str or int
            The subscription.
        score : float
            Its new score.

        Raises
        ------
        UnknownSubscription
            If there is none.
        """
        self._ask(calls.rescore(id, score))

    def get(self, id: SubscriptionId) -> dict[str, Any]:
        """A subscription as a record, with its `sequence`.

        Parameters
        ----------
        id : str or int
            Its id.

        Returns
        -------
        dict
            The record.

        Raises
        ------
        UnknownSubscription
            If there is none.
        """
        return self._ask(calls.get(id))

    def __contains__(self, id: SubscriptionId) -> bool:
        """Whether there is a subscription.

        Parameters
        ----------
        id : str or int
            Its id.

        Returns
        -------
        bool
            True if there is one.
        """
        try:
            self._ask(calls.get(id))
        except UnknownSubscription:
            return False
        return True

    def subscriptions(self, *, only: str | None = None) -> Iterator[dict[str, Any]]:
        """All subscriptions, or a part of them, in the order of their ids.

        Parameters
        ----------
        only : str, optional
            A condition that their payloads satisfy.

        Returns
        -------
        iterator of dict
            Each as `get` gives it. What changes meanwhile may be there or not.
        """
        return self._items(pages("/v1/subscriptions", "subscriptions", only=only))

    # Matching and publishing

    def match(self, event: Event | Row, *, ranking: Ranking | None = None) -> list[Match]:
        """The subscriptions that an event matches; nothing is stored.

        Parameters
        ----------
        event : mapping
            The event: names and JSON values.
        ranking : Top, Relaxed or Similar, optional
            As in `tocsin.match`.

        Returns
        -------
        list of Match
            Each with `subscription`, `score` and `payload`.
        """
        return self._all(conversations.matches(one_event(event, "match_batch"), ranking))

    def match_batch(self, events: pa.Table | Iterable[Event], *, ranking: Ranking | None = None) -> Matched:
        """The matches of many events; nothing is stored. It takes further requests if the matches are many.

        Parameters
        ----------
        events : pyarrow.Table or iterable of mappings
            The events. The service limits the size of a request.
        ranking : Top, Relaxed or Similar, optional
            As in `tocsin.match`.

        Returns
        -------
        Matched
            `table` and `errors`.
        """
        return calls.joined(self._all(conversations.batches(events, ranking)))

    def publish(self, events: Events, *, key: str | None = None, progress: Progress | None = None) -> Published:
        """Publish events; they and their deliveries are durable when the call returns.

        Parameters
        ----------
        events : mapping, or source of events
            An event, or many: any source that `tocsin.Engine.match_batch` accepts, such as a path or a data frame.
        key : str, optional
            The idempotency key: the same events with the same key are published once in 24 hours. By default a new
            one, so that trying again is harmless.
        progress : callable or True, optional
            Called with the share of the source that was sent, or with None if its size is not known. True shows a bar.

        Returns
        -------
        Published
            The number of the last event, counts, and what was refused, by row.

        Notes
        -----
        Requests are cut to the size that the service takes. Further ones have the keys `key.1`, `key.2` and so on.
        """
        key = key or uuid.uuid4().hex
        if isinstance(events, Mapping):
            return self._ask(calls.publish(events, key))
        return self._only(uploads.events(events, key, progress))

    def __repr__(self) -> str:
        return f"Client({self._url!r})"
