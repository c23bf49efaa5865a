"""A client of the service for programs that block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tocsin.client import calls, conversations
from tocsin.client.calls import Event, Matched, Published
from tocsin.client.conversations import pages
from tocsin.client.hosting import Hosting
from tocsin.errors import UnknownSubscription
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Match, Removal, Report, SubscriptionId


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
    tries : int, default 4
        How often a request is sent at most.

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

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 10.0, tries: int = 4) -> None:
        super().__init__(url, token, timeout_s, tries)

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

    def subscribe_many(self, records: pa.Table | Iterable[Mapping[str, Any]]) -> Report:
        """Add or replace many subscriptions in one transaction. A bad record is reported, and the others are added.

        Parameters
        ----------
        records : pyarrow.Table or iterable of mappings
            Each with `id`, `where` and, optionally, what `subscribe` takes.

        Returns
        -------
        Report
            How many were accepted, and the rejects.
        """
        return self._ask(calls.subscribe_many(records))

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
        return next(iter(self._items(conversations.removals(ids, only, dry_run=dry_run))))

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

    def match(self, event: Event, *, ranking: Ranking | None = None) -> list[Match]:
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
        return list(self._items(conversations.matches(event, ranking)))

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
        return calls.joined(self._items(conversations.batches(events, ranking)))

    def publish(self, events: Event | pa.Table | Iterable[Event], *, key: str | None = None) -> Published:
        """Publish events; they and their deliveries are durable when the call returns.

        Parameters
        ----------
        events : mapping, pyarrow.Table or iterable of mappings
            An event, or many.
        key : str, optional
            The idempotency key: the same events with the same key are published once in 24 hours. By default a new
            one, so that trying again is harmless.

        Returns
        -------
        Published
            The number of the last event, counts, and what was refused.
        """
        return self._ask(calls.publish(events, key))

    def __repr__(self) -> str:
        return f"Client({self._url!r})"
