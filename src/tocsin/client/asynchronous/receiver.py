"""Destinations, deliveries and streams, for programs that await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from tocsin.client import conversations, delivery_calls
from tocsin.client.asynchronous.sender import AsyncSender
from tocsin.client.delivery_calls import Delivery
from tocsin.client.sending import async_sleep, httpx, stream_error
from tocsin.client.streams import Following


class AsyncReceiver(AsyncSender):
    """The part of `AsyncClient` that receives."""

    async def put_destination(
        self, name: str, kind: str = "stream", settings: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Make a destination, or change its options.

        Parameters
        ----------
        name : str
            Its id.
        kind : str, default "stream"
            `"stream"`, `"webhook"`, or another one that the server has.
        settings : mapping, optional
            Those of the kind, such as `{"url": "https://example.org/hook"}`.

        Returns
        -------
        dict
            The destination.
        """
        return await self._ask(delivery_calls.put_destination(name, kind, settings))

    async def destination(self, name: str) -> dict[str, Any]:
        """A destination, with its cursor.

        Parameters
        ----------
        name : str
            Its id.

        Returns
        -------
        dict
            Among others `newest`, `acknowledged` and `earliest`.
        """
        return await self._ask(delivery_calls.destination(name))

    def destinations(self) -> AsyncIterator[dict[str, Any]]:
        """All destinations in the order of their ids.

        Returns
        -------
        iterator of dict
            Each as `destination` gives it.
        """
        return self._items(conversations.pages("/v1/destinations", "destinations"))

    async def delete_destination(self, name: str) -> None:
        """Delete a destination that no subscription names.

        Parameters
        ----------
        name : str
            Its id.
        """
        await self._ask(delivery_calls.delete_destination(name))

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move the durable cursor of a destination: all deliveries up to a number are done.

        Parameters
        ----------
        name : str
            The destination.
        sequence : int
            The number.
        """
        await self._ask(delivery_calls.acknowledge(name, sequence))

    async def enable(self, name: str) -> dict[str, Any]:
        """Let a webhook send again at once, after it failed or was disabled.

        Parameters
        ----------
        name : str
            The destination.

        Returns
        -------
        dict
            The destination.
        """
        return await self._ask(delivery_calls.enable(name))

    async def rotate_secret(self, name: str, *, secret: str | None = None, keep_s: float | None = None) -> str:
        """Sign the requests of a webhook with another secret, and for some time with the one before, too.

        Parameters
        ----------
        name : str
            The destination.
        secret : str, optional
            `whsec_` and base64; without one, the service makes a secret.
        keep_s : float, optional
            For how many seconds the secret before still signs; by default a day.

        Returns
        -------
        str
            The new secret.
        """
        return await self._ask(delivery_calls.rotate_secret(name, secret, keep_s))

    async def replay(self, name: str, *, first: int | None = None, since: str | None = None) -> int:
        """Move the cursor of a destination back, so that its deliveries come again.

        Parameters
        ----------
        name : str
            The destination.
        first : int, optional
            The number of the first delivery that comes again.
        since : str, optional
            Or the time from which on they were published: RFC 3339, such as `"2026-01-31T12:00:00Z"`.

        Returns
        -------
        int
            The cursor, which is before the first of them.

        Raises
        ------
        InvalidInput
            Unless one of the two is given.
        """
        return await self._ask(delivery_calls.replay(name, first, since))

    def dead_letters(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """The deliveries of a webhook that were given up, in order.

        Parameters
        ----------
        name : str
            The destination.

        Returns
        -------
        iterator of dict
            Each with `sequence`, `cause`, `reason`, `attempts`, and the `delivery` as long as it is kept.
        """
        return self._items(conversations.dead_letters(name))

    async def retry(self, name: str, sequence: int) -> None:
        """Send a dead letter again.

        Parameters
        ----------
        name : str
            The destination.
        sequence : int
            The number of the delivery.
        """
        await self._ask(delivery_calls.retry(name, sequence))

    def attempts(
        self, name: str, *, sequence: int | None = None, failed: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """The last requests of a webhook, the latest first.

        Parameters
        ----------
        name : str
            The destination.
        sequence : int, optional
            Only those of the delivery with this number.
        failed : bool, default False
            Only those that were not delivered.

        Returns
        -------
        iterator of dict
            Each with `time`, `outcome`, `attempt`, `duration_ms`, and the `status` and `reason` if there are some.
        """
        return self._items(conversations.attempts(name, sequence, failed=failed))

    async def test(self, name: str, event: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Post an event to a webhook now. It has no number, and is not tried again.

        Parameters
        ----------
        name : str
            The destination.
        event : mapping, optional
            The event; by default one of the type `tocsin.test`.

        Returns
        -------
        dict
            The attempt, as `attempts` gives it. `outcome` is `"delivered"` if the endpoint took it.
        """
        return await self._ask(delivery_calls.test(name, event))

    async def preview(
        self, name: str, template: Mapping[str, Any] | None = None, *, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """What a template makes of the last deliveries of a destination, or of a sample. Nothing is sent.

        Parameters
        ----------
        name : str
            The destination.
        template : mapping, optional
            The template; by default that of the destination.
        limit : int, optional
            How many deliveries, from 1 to 10; by default 3.

        Returns
        -------
        list of dict
            Each with `key`, `type`, and the `parts` as they would be sent, or an `error`.

        Raises
        ------
        InvalidInput
            The template cannot be parsed: the message has the part and the line.
        ServiceError
            The destination has no template, and none is given.
        """
        return await self._ask(delivery_calls.preview(name, template, limit))

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
        name : str
            The destination.
        after : int, optional
            The number before the first one; by default the durable cursor.
        wait_s : float, default 30
            How long one request waits for deliveries. With 0 the iterator ends when there are no more.
        acknowledge : bool, default True
            Move the cursor behind what was done, a page at a time. A delivery may come again after a crash, with the
            same `key`.
        gaps : str, default "raise"
            What to do if deliveries are not kept any more: `"raise"` a `ServiceError`, or `"warn"` and go on behind
            them.

        Returns
        -------
        iterator of Delivery
            Each with all its subscriptions.
        """
        return self._items(conversations.deliveries(name, after, wait_s, acknowledge=acknowledge, gaps=gaps))

    async def stream(self, *names: str, start: str | int = "latest", gaps: str = "raise") -> AsyncIterator[Delivery]:
        """The deliveries of destinations as they are made, on one connection. Nothing is acknowledged.

        Parameters
        ----------
        *names : str
            The destinations.
        start : str or int, default "latest"
            `"latest"`, `"earliest"`, or the number of the first delivery.
        gaps : str, default "raise"
            What to do if deliveries are not kept any more: `"raise"` a `ServiceError`, or `"warn"` and go on.

        Returns
        -------
        iterator of Delivery
            Each; of one with more than 1,000 subscriptions the first 1,000.

        Notes
        -----
        A connection that breaks is made again, and the stream goes on where it was.
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
            await async_sleep(following.pause_s)
