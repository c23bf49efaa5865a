"""A client of the service for programs that await."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import pyarrow as pa

from tocsin.client import calls, conversations, uploads
from tocsin.client.async_hosting import AsyncHosting
from tocsin.client.calls import Event, Matched, Published
from tocsin.client.conversations import pages
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Match, Removal, Report, Row, SubscriptionId, one_event
from tocsin.progress import Progress
from tocsin.records.events import Events
from tocsin.records.subscriptions import Subscriptions


class AsyncClient(AsyncHosting):
    """`tocsin.Client` for programs that await: the same calls, as coroutines and asynchronous iterators.

    Parameters
    ----------
    url : str
        Where the service is.
    token : str, optional
        The token, if the service has tokens.
    timeout_s : float, default 10
        Seconds to connect, and to send a request. An answer may take a minute longer.
    retry_s
        As in `tocsin.Client`.

    Raises
    ------
    InvalidInput
        If `url` is not one.
    MissingExtra
        If httpx is not installed.

    Examples
    --------
    With a service that runs:

        async with tocsin.AsyncClient("http://127.0.0.1:8470") as client:
            await client.publish({"price": 550})
            async for delivery in client.deliveries("mobile"):
                print(delivery.event)
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 10.0, retry_s: float = 30.0) -> None:
        super().__init__(url, token, timeout_s, retry_s)

    async def subscribe(
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
        id
            As in `tocsin.Client.subscribe`.
        where
            As in `tocsin.Client.subscribe`.
        language
            As in `tocsin.Client.subscribe`.
        score
            As in `tocsin.Client.subscribe`.
        payload
            As in `tocsin.Client.subscribe`.
        weights
            As in `tocsin.Client.subscribe`.
        replace
            As in `tocsin.Client.subscribe`.
        destination
            As in `tocsin.Client.subscribe`.
        fence
            As in `tocsin.Client.subscribe`.
        throttle_s
            As in `tocsin.Client.subscribe`.
        paused_until, expires_at
            As in `tocsin.Client.subscribe`.

        Returns
        -------
        int
            As in `tocsin.Client.subscribe`.
        """
        return await self._ask(
            calls.subscribe(
                id, replace=replace, where=where, language=language, score=score, payload=payload,
                weights=weights and dict(weights),
                destination=destination, fence=fence, throttle_s=throttle_s, paused_until=paused_until,
                expires_at=expires_at,
            )
        )  # fmt: skip

    async def subscribe_many(
        self, source: Subscriptions, *, replace: bool = False, progress: Progress | None = None
    ) -> Report:
        """Add all subscriptions of a source. A bad record is reported, and the others are added.

        Parameters
        ----------
        source
            As in `tocsin.Client.subscribe_many`. A file is read in the event loop, a piece at a time.
        replace
            As in `tocsin.Client.subscribe_many`.
        progress
            As in `tocsin.Client.subscribe_many`.

        Returns
        -------
        Report
            As in `tocsin.Client.subscribe_many`.
        """
        whole = uploads.subscriptions(source, "/v1/subscriptions", replace=replace, progress=progress)
        return await anext(aiter(self._items(whole)))

    async def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id
            As in `tocsin.Client.unsubscribe`.
        """
        await self._ask(calls.unsubscribe(id))

    async def unsubscribe_many(
        self, ids: Iterable[SubscriptionId] | None = None, *, only: str | None = None, dry_run: bool = False
    ) -> Removal:
        """Remove many subscriptions: those with some ids, or those whose payload satisfies a condition.

        Parameters
        ----------
        ids
            As in `tocsin.Client.unsubscribe_many`.
        only
            As in `tocsin.Client.unsubscribe_many`.
        dry_run
            As in `tocsin.Client.unsubscribe_many`.

        Returns
        -------
        Removal
            As in `tocsin.Client.unsubscribe_many`.
        """
        return await anext(aiter(self._items(conversations.removals(ids, only, dry_run=dry_run))))

    async def rescore(self, id: SubscriptionId, score: float) -> None:
        """Change a score.

        Parameters
        ----------
        id
            As in `tocsin.Client.rescore`.
        score
            As in `tocsin.Client.rescore`.
        """
        await self._ask(calls.rescore(id, score))

    async def get(self, id: SubscriptionId) -> dict[str, Any]:
        """A subscription as a record, with its `sequence`.

        Parameters
        ----------
        id
            As in `tocsin.Client.get`.

        Returns
        -------
        dict
            As in `tocsin.Client.get`.
        """
        return await self._ask(calls.get(id))

    async def match(self, event: Event | Row, *, ranking: Ranking | None = None) -> list[Match]:
        """The subscriptions that an event matches; nothing is stored.

        Parameters
        ----------
        event
            As in `tocsin.Client.match`.
        ranking
            As in `tocsin.match`.

        Returns
        -------
        list of Match
            As in `tocsin.Client.match`.
        """
        return [one async for one in self._items(conversations.matches(one_event(event, "match_batch"), ranking))]

    async def match_batch(self, events: pa.Table | Iterable[Event], *, ranking: Ranking | None = None) -> Matched:
        """The matches of many events; nothing is stored. It takes further requests if the matches are many.

        Parameters
        ----------
        events
            As in `tocsin.Client.match_batch`.
        ranking
            As in `tocsin.match`.

        Returns
        -------
        Matched
            As in `tocsin.Client.match_batch`.
        """
        return calls.joined([one async for one in self._items(conversations.batches(events, ranking))])

    async def publish(self, events: Events, *, key: str | None = None, progress: Progress | None = None) -> Published:
        """Publish events; they and their deliveries are durable when the call returns.

        Parameters
        ----------
        events
            As in `tocsin.Client.publish`.
        key
            As in `tocsin.Client.publish`.
        progress
            As in `tocsin.Client.publish`.

        Returns
        -------
        Published
            As in `tocsin.Client.publish`.
        """
        key = key or uuid.uuid4().hex
        if isinstance(events, Mapping):
            return await self._ask(calls.publish(events, key))
        return await anext(aiter(self._items(uploads.events(events, key, progress))))

    def subscriptions(self, *, only: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """All subscriptions, or a part of them, in the order of their ids.

        Parameters
        ----------
        only
            As in `tocsin.Client.subscriptions`.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.subscriptions`.
        """
        return self._items(pages("/v1/subscriptions", "subscriptions", only=only))

    def __repr__(self) -> str:
        return f"AsyncClient({self._url!r})"
