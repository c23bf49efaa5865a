"""What a client that awaits receives: destinations, deliveries and streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from tocsin.client import conversations, delivery_calls
from tocsin.client.delivery_calls import Delivery
from tocsin.client.receiving import stream_error
from tocsin.client.sending import AsyncSender, httpx, slept
from tocsin.client.streams import Following


class AsyncReceiver(AsyncSender):
    """The part of `AsyncClient` that receives."""

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
        return await self._ask(delivery_calls.put_destination(name, kind, settings))

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
        return await self._ask(delivery_calls.destination(name))

    async def delete_destination(self, name: str) -> None:
        """Delete a destination that no subscription names.

        Parameters
        ----------
        name
            As in `tocsin.Client.delete_destination`.
        """
        await self._ask(delivery_calls.delete_destination(name))

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move the durable cursor of a destination: all deliveries up to a number are done.

        Parameters
        ----------
        name
            As in `tocsin.Client.acknowledge`.
        sequence
            As in `tocsin.Client.acknowledge`.
        """
        await self._ask(delivery_calls.acknowledge(name, sequence))

    def destinations(self) -> AsyncIterator[dict[str, Any]]:
        """All destinations in the order of their ids.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.destinations`.
        """
        return self._items(conversations.pages("/v1/destinations", "destinations"))

    async def enable(self, name: str) -> dict[str, Any]:
        """Let a webhook send again at once, after it failed or was disabled.

        Parameters
        ----------
        name
            As in `tocsin.Client.enable`.

        Returns
        -------
        dict
            As in `tocsin.Client.enable`.
        """
        return await self._ask(delivery_calls.enable(name))

    async def rotate_secret(self, name: str, *, secret: str | None = None, keep_s: float | None = None) -> str:
        """Sign the requests of a webhook with another secret, and for some time with the one before, too.

        Parameters
        ----------
        name
            As in `tocsin.Client.rotate_secret`.
        secret
            As in `tocsin.Client.rotate_secret`.
        keep_s
            As in `tocsin.Client.rotate_secret`.

        Returns
        -------
        str
            As in `tocsin.Client.rotate_secret`.
        """
        return await self._ask(delivery_calls.rotate_secret(name, secret, keep_s))

    async def replay(self, name: str, *, first: int | None = None, since: str | None = None) -> int:
        """Move the cursor of a destination back, so that its deliveries come again.

        Parameters
        ----------
        name
            As in `tocsin.Client.replay`.
        first
            As in `tocsin.Client.replay`.
        since
            As in `tocsin.Client.replay`.

        Returns
        -------
        int
            As in `tocsin.Client.replay`.
        """
        return await self._ask(delivery_calls.replay(name, first, since))

    def dead_letters(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """The deliveries of a webhook that were given up, in order.

        Parameters
        ----------
        name
            As in `tocsin.Client.dead_letters`.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.dead_letters`.
        """
        return self._items(conversations.dead_letters(name))

    async def retry(self, name: str, sequence: int) -> None:
        """Send a dead letter again.

        Parameters
        ----------
        name
            As in `tocsin.Client.retry`.
        sequence
            As in `tocsin.Client.retry`.
        """
        await self._ask(delivery_calls.retry(name, sequence))

    def attempts(
        self, name: str, *, sequence: int | None = None, failed: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """The last requests of a webhook, the latest first.

        Parameters
        ----------
        name
            As in `tocsin.Client.attempts`.
        sequence
            As in `tocsin.Client.attempts`.
        failed
            As in `tocsin.Client.attempts`.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.attempts`.
        """
        return self._items(conversations.attempts(name, sequence, failed=failed))

    async def test(self, name: str, event: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Post an event to a webhook now. It has no number, and is not tried again.

        Parameters
        ----------
        name
            As in `tocsin.Client.test`.
        event
            As in `tocsin.Client.test`.

        Returns
        -------
        dict
            As in `tocsin.Client.test`.
        """
        return await self._ask(delivery_calls.test(name, event))

    def deliveries(
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
        return self._items(conversations.deliveries(name, after, wait_s, acknowledge=acknowledge, gaps=gaps))

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
                    async for part in answer.aiter_bytes():
                        for line in following.lines(part):
                            if (delivery := following.take(line)) is not None:
                                yield delivery
            except httpx().TransportError:
                """The server was stopped, or the connection cut."""
            await slept(following.pause_s)
