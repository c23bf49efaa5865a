"""A client of the service for programs that await."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import pyarrow as pa

from tocsin.client import calls
from tocsin.client.calls import Delivery, Event, Matched, Published
from tocsin.client.receiving import behind, stream_error
from tocsin.client.sending import AsyncSender, httpx
from tocsin.client.streams import Following, checked_gaps
from tocsin.errors import ServiceError
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Match, Report, SubscriptionId


class AsyncClient(AsyncSender):
    """`tocsin.Client` for programs that await: the same calls, as coroutines and asynchronous iterators.

    Parameters
    ----------
    url : str
        Where the service is.
    token : str, optional
        The token, if the service has tokens.
    timeout_s : float, default 10
        Seconds to connect, and to send a request. An answer may take a minute longer.
    tries : int, default 4
        How often a request is sent at most.

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

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 10.0, tries: int = 4) -> None:
        super().__init__(url, token, timeout_s, tries)

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
                destination=destination, throttle_s=throttle_s, paused_until=paused_until, expires_at=expires_at,
            )
        )  # fmt: skip

    async def subscribe_many(self, records: pa.Table | Iterable[Mapping[str, Any]]) -> Report:
        """Add or replace many subscriptions in one transaction. A bad record is reported, and the others are added.

        Parameters
        ----------
        records
            As in `tocsin.Client.subscribe_many`.

        Returns
        -------
        Report
            As in `tocsin.Client.subscribe_many`.
        """
        return await self._ask(calls.subscribe_many(records))

    async def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id
            As in `tocsin.Client.unsubscribe`.
        """
        await self._ask(calls.unsubscribe(id))

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

    async def match(self, event: Event, *, ranking: Ranking | None = None) -> list[Match]:
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
        return await self._ask(calls.match(event, ranking))

    async def match_batch(self, events: pa.Table | Iterable[Event], *, ranking: Ranking | None = None) -> Matched:
        """The matches of many events in one request; nothing is stored.

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
        return await self._ask(calls.match_batch(events, ranking))

    async def publish(self, events: Event | pa.Table | Iterable[Event], *, key: str | None = None) -> Published:
        """Publish events; they and their deliveries are durable when the call returns.

        Parameters
        ----------
        events
            As in `tocsin.Client.publish`.
        key
            As in `tocsin.Client.publish`.

        Returns
        -------
        Published
            As in `tocsin.Client.publish`.
        """
        return await self._ask(calls.publish(events, key))

    async def put_destination(
        self, name: str, kind: str = "stream", settings: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Make a destination, or change its options.

        Parameters
        ----------
        name, kind
            As in `tocsin.Client.put_destination`.
        settings
            As in `tocsin.Client.put_destination`.

        Returns
        -------
        dict
            As in `tocsin.Client.put_destination`.
        """
        return await self._ask(calls.put_destination(name, kind, settings))

    async def destination(self, name: str) -> dict[str, Any]:
        """A destination, with its cursor.

        Parameters
        ----------
        name
            As in `tocsin.Client.destination`.

        Returns
        -------
        dict
            As in `tocsin.Client.destination`.
        """
        return await self._ask(calls.destination(name))

    async def delete_destination(self, name: str) -> None:
        """Delete a destination that no subscription names.

        Parameters
        ----------
        name
            As in `tocsin.Client.delete_destination`.
        """
        await self._ask(calls.delete_destination(name))

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move the durable cursor of a destination: all deliveries up to a number are done.

        Parameters
        ----------
        name
            As in `tocsin.Client.acknowledge`.
        sequence
            As in `tocsin.Client.acknowledge`.
        """
        await self._ask(calls.acknowledge(name, sequence))

    async def subscriptions(self) -> AsyncIterator[dict[str, Any]]:
        """All subscriptions in the order of their ids.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.subscriptions`.
        """
        async for one in self._pages("/v1/subscriptions", "subscriptions"):
            yield one

    async def destinations(self) -> AsyncIterator[dict[str, Any]]:
        """All destinations in the order of their ids.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.destinations`.
        """
        async for one in self._pages("/v1/destinations", "destinations"):
            yield one

    async def _pages(self, path: str, name: str) -> AsyncIterator[dict[str, Any]]:
        after: str | None = None
        while True:
            page = await self._ask(calls.page(path, after))
            for one in page[name]:
                yield one
            after = page.get("next")
            if after is None:
                return

    async def deliveries(
        self,
        name: str,
        *,
        after: int | None = None,
        wait_s: float = 30.0,
        acknowledge: bool = True,
        gaps: str = "raise",
    ) -> AsyncIterator[Delivery]:
        """The deliveries of a destination in order, without end. One that is asked for the next is done.

        Parameters
        ----------
        name
            As in `tocsin.Client.deliveries`.
        after
            As in `tocsin.Client.deliveries`.
        wait_s
            As in `tocsin.Client.deliveries`.
        acknowledge
            As in `tocsin.Client.deliveries`.
        gaps
            As in `tocsin.Client.deliveries`.

        Returns
        -------
        iterator of Delivery
            As in `tocsin.Client.deliveries`.
        """
        checked_gaps(gaps)
        while True:
            try:
                page = await self._ask(calls.pull(name, after, wait_s))
            except ServiceError as error:
                after = behind(error, gaps)
                continue
            for place, delivery in enumerate(page.deliveries):
                await self._complete(delivery, page.wanting.get(place))
                yield delivery
                after = delivery.sequence
            if page.deliveries and acknowledge:
                await self.acknowledge(name, page.deliveries[-1].sequence)
            if not page.deliveries and not wait_s:
                return

    async def _complete(self, delivery: Delivery, path: str | None) -> None:
        """Read the subscriptions of a delivery that its page left out."""
        number: int | None = None
        while path is not None:
            found, number = await self._ask(calls.more(path, number))
            delivery.subscriptions.extend(found)
            path = path if number is not None else None

    async def stream(self, *names: str, start: str | int = "latest", gaps: str = "raise") -> AsyncIterator[Delivery]:
        """The deliveries of destinations as they are made, on one connection. Nothing is acknowledged.

        Parameters
        ----------
        *names
            As in `tocsin.Client.stream`.
        start
            As in `tocsin.Client.stream`.
        gaps
            As in `tocsin.Client.stream`.

        Returns
        -------
        iterator of Delivery
            As in `tocsin.Client.stream`.
        """
        following = Following(names, start, gaps)
        while True:
            try:
                async with self._http.stream("GET", "/v1/stream", **following.request()) as answer:
                    if answer.status_code >= 400:
                        stream_error(answer.status_code, await answer.aread())
                    async for line in answer.aiter_lines():
                        if (delivery := following.take(line)) is not None:
                            yield delivery
            except httpx().TransportError:
                """The server was stopped, or the connection cut."""
            await asyncio.sleep(following.pause_s)

    def __repr__(self) -> str:
        return f"AsyncClient({self._url!r})"
