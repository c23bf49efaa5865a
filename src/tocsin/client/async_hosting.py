"""Windows and fences of the service, for programs that await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import pyarrow as pa

from tocsin.client import uploads
from tocsin.client import window_calls as calls
from tocsin.client.async_receiving import AsyncReceiver
from tocsin.client.conversations import pages
from tocsin.client.sending import AsyncSender
from tocsin.client.window_calls import Pushed
from tocsin.model.subscription import Report
from tocsin.progress import Progress


class AsyncServedWindow:
    """A window of the service. `AsyncClient.window` makes one; its calls are those of `ServedWindow`, as coroutines."""

    def __init__(self, sender: AsyncSender, name: str) -> None:
        self._sender, self._name = sender, name

    async def describe(self) -> dict[str, Any]:
        """The options of the window, and how many messages and subscriptions it has.

        Returns
        -------
        dict
            As in `tocsin.ServedWindow.describe`.
        """
        return await self._sender._ask(calls.describe(calls.window_path(self._name)))

    async def subscribe(
        self,
        id: str,
        *,
        words: Iterable[str] | None = None,
        text: str | None = None,
        location: Any,
        k: int | None = None,
        alpha: float | None = None,
        destination: str | None = None,
        payload: Any = None,
        throttle_s: float | None = None,
        paused_until: str | None = None,
        expires_at: str | None = None,
    ) -> None:
        """Add or replace a subscription, which is durable when the call returns.

        Parameters
        ----------
        id
            As in `tocsin.ServedWindow.subscribe`.
        words
            As in `tocsin.ServedWindow.subscribe`.
        text
            As in `tocsin.ServedWindow.subscribe`.
        location
            As in `tocsin.ServedWindow.subscribe`.
        k
            As in `tocsin.ServedWindow.subscribe`.
        alpha
            As in `tocsin.ServedWindow.subscribe`.
        destination
            As in `tocsin.ServedWindow.subscribe`.
        payload
            As in `tocsin.ServedWindow.subscribe`.
        throttle_s
            As in `tocsin.ServedWindow.subscribe`.
        paused_until, expires_at
            As in `tocsin.ServedWindow.subscribe`.
        """
        own = None if words is None else list(words)
        await self._sender._ask(
            calls.put_interest(
                self._name, id, words=own, text=text, location=location, k=k, alpha=alpha, destination=destination,
                payload=payload, throttle_s=throttle_s, paused_until=paused_until, expires_at=expires_at,
            )
        )  # fmt: skip

    async def subscribe_many(self, source: Any, *, progress: Progress | None = None) -> Report:
        """Add or replace many subscriptions. A bad record is reported, and the others are added.

        Parameters
        ----------
        source
            As in `tocsin.ServedWindow.subscribe_many`.
        progress
            As in `tocsin.ServedWindow.subscribe_many`.

        Returns
        -------
        Report
            As in `tocsin.ServedWindow.subscribe_many`.
        """
        whole = uploads.subscriptions(source, calls.interests_path(self._name), progress=progress)
        return await anext(aiter(self._sender._items(whole)))

    async def unsubscribe(self, id: str) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id
            As in `tocsin.ServedWindow.unsubscribe`.
        """
        await self._sender._ask(calls.drop_interest(self._name, id))

    async def get(self, id: str) -> dict[str, Any]:
        """A subscription as a record.

        Parameters
        ----------
        id
            As in `tocsin.ServedWindow.get`.

        Returns
        -------
        dict
            As in `tocsin.ServedWindow.get`.
        """
        return await self._sender._ask(calls.interest(self._name, id))

    async def results(self, id: str) -> list[tuple[Any, float]]:
        """The best messages of a subscription, best first.

        Parameters
        ----------
        id
            As in `tocsin.ServedWindow.results`.

        Returns
        -------
        list of (str or int, float)
            As in `tocsin.ServedWindow.results`.
        """
        return await self._sender._ask(calls.results(self._name, id))

    async def push(self, message: Mapping[str, Any], *, key: str | None = None) -> Pushed:
        """Push a message; it and the deliveries of its changes are durable when the call returns.

        Parameters
        ----------
        message
            As in `tocsin.ServedWindow.push`.
        key
            As in `tocsin.ServedWindow.push`.

        Returns
        -------
        Pushed
            As in `tocsin.ServedWindow.push`.
        """
        return await self._sender._ask(calls.push(self._name, message, key))

    async def push_batch(
        self, messages: pa.Table | Iterable[Mapping[str, Any]], *, changes: bool = True, key: str | None = None
    ) -> Pushed:
        """Push messages in one request.

        Parameters
        ----------
        messages
            As in `tocsin.ServedWindow.push_batch`.
        changes
            As in `tocsin.ServedWindow.push_batch`.
        key
            As in `tocsin.ServedWindow.push`.

        Returns
        -------
        Pushed
            As in `tocsin.ServedWindow.push_batch`.
        """
        return await self._sender._ask(calls.push_batch(self._name, messages, key, changes=changes))

    async def advance(self, time: float | str, *, key: str | None = None) -> int:
        """Let time pass without a message.

        Parameters
        ----------
        time
            As in `tocsin.ServedWindow.advance`.
        key
            As in `tocsin.ServedWindow.push`.

        Returns
        -------
        int
            As in `tocsin.ServedWindow.advance`.
        """
        return await self._sender._ask(calls.advance(self._name, time, key))

    def __repr__(self) -> str:
        return f"AsyncServedWindow({self._name!r})"


class AsyncHosting(AsyncReceiver):
    """The part of `AsyncClient` with windows and fences."""

    async def put_window(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Make a window, unless there is one with these options.

        Parameters
        ----------
        name
            As in `tocsin.Client.put_window`.
        settings
            As in `tocsin.Client.put_window`.

        Returns
        -------
        dict
            As in `tocsin.Client.put_window`.
        """
        return await self._ask(calls.put_window(name, settings))

    def window(self, name: str) -> AsyncServedWindow:
        """A window, to push messages into, and to subscribe.

        Parameters
        ----------
        name
            As in `tocsin.Client.window`.

        Returns
        -------
        AsyncServedWindow
            As in `tocsin.Client.window`.
        """
        return AsyncServedWindow(self, name)

    def windows(self) -> AsyncIterator[dict[str, Any]]:
        """All windows in the order of their names.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.windows`.
        """
        return self._items(pages("/v1/windows", "windows"))

    async def delete_window(self, name: str) -> None:
        """Delete a window with its messages and subscriptions.

        Parameters
        ----------
        name
            As in `tocsin.Client.delete_window`.
        """
        await self._ask(calls.delete(calls.window_path(name)))

    async def put_fence(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Make a fence, unless there is one with these options. `subscribe` names it.

        Parameters
        ----------
        name
            As in `tocsin.Client.put_fence`.
        settings
            As in `tocsin.Client.put_fence`.

        Returns
        -------
        dict
            As in `tocsin.Client.put_fence`.
        """
        return await self._ask(calls.put_fence(name, settings))

    async def fence(self, name: str) -> dict[str, Any]:
        """A fence, with the number of its objects.

        Parameters
        ----------
        name
            As in `tocsin.Client.fence`.

        Returns
        -------
        dict
            As in `tocsin.Client.fence`.
        """
        return await self._ask(calls.describe(calls.fence_path(name)))

    def fences(self) -> AsyncIterator[dict[str, Any]]:
        """All fences in the order of their names.

        Returns
        -------
        iterator of dict
            As in `tocsin.Client.fences`.
        """
        return self._items(pages("/v1/fences", "fences"))

    async def delete_fence(self, name: str) -> None:
        """Delete a fence that no subscription names.

        Parameters
        ----------
        name
            As in `tocsin.Client.delete_fence`.
        """
        await self._ask(calls.delete(calls.fence_path(name)))
