# Made by scripts/synchronous_client.py from asynchronous/hosting.py: change that file, then run: make client
"""Windows and fences of the service, for programs that block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tocsin.client import uploads
from tocsin.client import window_calls as calls
from tocsin.client.conversations import pages
from tocsin.client.synchronous.receiver import Receiver
from tocsin.client.synchronous.sender import Sender
from tocsin.client.window_calls import Pushed
from tocsin.model.subscription import Report
from tocsin.progress import Progress


class ServedWindow:
    """A window of the service. `Client.window` makes one; its calls have the names of `Window`."""

    def __init__(self, sender: Sender, name: str) -> None:
        self._sender, self._name = sender, name

    def describe(self) -> dict[str, Any]:
        """The options of the window, and how many messages and subscriptions it has.

        Returns
        -------
        dict
            Among others `size`, `messages`, `next` and `subscriptions`.
        """
        return self._sender._ask(calls.describe(calls.window_path(self._name)))

    def subscribe(
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
        id : str
            The id.
        words : iterable of str, optional
            The words that it looks for.
        text : str, optional
            A text instead.
        location : pair of float, or GeoJSON point
            The place, within the bounds.
        k : int, optional
            How many messages to keep; by default 10.
        alpha : float, optional
            The weight of the place; by default 0.5.
        destination : str, optional
            Where changes of its list are delivered.
        payload : JSON value, optional
            What deliveries carry.
        throttle_s : float, optional
            It is told of its list at most once in so many seconds. `results` has the whole list.
        paused_until, expires_at : str, optional
            Until this time it is told nothing, and from this time on it is deleted: RFC 3339, such as
            `"2026-01-31T12:00:00Z"`.

        Raises
        ------
        RecordError
            If a value cannot be used.
        """
        own = None if words is None else list(words)
        self._sender._ask(
            calls.put_interest(
                self._name, id, words=own, text=text, location=location, k=k, alpha=alpha, destination=destination,
                payload=payload, throttle_s=throttle_s, paused_until=paused_until, expires_at=expires_at,
            )
        )  # fmt: skip

    def subscribe_many(self, source: Any, *, progress: Progress | None = None) -> Report:
        """Add or replace many subscriptions. A bad record is reported, and the others are added.

        Parameters
        ----------
        source : source of subscriptions
            Mappings, a path, JSON, a table or a data frame; each record with `id` and what `subscribe` takes.
        progress : callable or True, optional
            Called with the share of the source that was sent, or with None if its size is not known. True shows a bar.

        Returns
        -------
        Report
            How many were accepted, and the rejects.
        """
        whole = uploads.subscriptions(source, calls.interests_path(self._name), progress=progress)
        return self._sender._only(whole)

    def unsubscribe(self, id: str) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id : str
            Its id.

        Raises
        ------
        UnknownSubscription
            If there is none.
        """
        self._sender._ask(calls.drop_interest(self._name, id))

    def get(self, id: str) -> dict[str, Any]:
        """A subscription as a record.

        Parameters
        ----------
        id : str
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
        return self._sender._ask(calls.interest(self._name, id))

    def results(self, id: str) -> list[tuple[Any, float]]:
        """The best messages of a subscription, best first.

        Parameters
        ----------
        id : str
            Its id.

        Returns
        -------
        list of (str or int, float)
            The key or number of each message, and its score.

        Raises
        ------
        UnknownSubscription
            If there is none.
        """
        return self._sender._ask(calls.results(self._name, id))

    def push(self, message: Mapping[str, Any], *, key: str | None = None) -> Pushed:
        """Push a message; it and the deliveries of its changes are durable when the call returns.

        Parameters
        ----------
        message : mapping
            Its `words` or `text`, `location`, and `key` and `time` if the window needs them. Other members are
            delivered with it.
        key : str, optional
            The idempotency key; by default a new one, so that trying again is harmless.

        Returns
        -------
        Pushed
            Counts.

        Raises
        ------
        RecordError
            If the message cannot be used.
        """
        return self._sender._ask(calls.push(self._name, message, key))

    def push_batch(
        self, messages: pa.Table | Iterable[Mapping[str, Any]], *, changes: bool = True, key: str | None = None
    ) -> Pushed:
        """Push messages in one request.

        Parameters
        ----------
        messages : pyarrow.Table or iterable of mappings
            The messages.
        changes : bool, default True
            Whether their changes are delivered. Without, a window is filled faster.
        key
            As in `tocsin.ServedWindow.push`.

        Returns
        -------
        Pushed
            Counts, and what was refused.
        """
        return self._sender._ask(calls.push_batch(self._name, messages, key, changes=changes))

    def advance(self, time: float | str, *, key: str | None = None) -> int:
        """Let time pass without a message.

        Parameters
        ----------
        time : float or str
            The time, in seconds or as RFC 3339.
        key
            As in `tocsin.ServedWindow.push`.

        Returns
        -------
        int
            How many changes that made.

        Raises
        ------
        InvalidInput
            If the window is not one of time, or the time is earlier than that of a message.
        """
        return self._sender._ask(calls.advance(self._name, time, key))

    def __repr__(self) -> str:
        return f"ServedWindow({self._name!r})"


class Hosting(Receiver):
    """The part of `Client` with windows and fences."""

    def put_window(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Make a window, unless there is one with these options.

        Parameters
        ----------
        name : str
            Its name.
        settings : mapping
            `bounds`, `size` or `time`, and optionally `weights`, `text` and `term_frequency`, as in
            `tocsin.Window`.

        Returns
        -------
        dict
            The window, as `window(name).describe()` gives it.

        Raises
        ------
        RecordError
            If an option cannot be used.
        """
        return self._ask(calls.put_window(name, settings))

    def window(self, name: str) -> ServedWindow:
        """A window, to push messages into, and to subscribe.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ServedWindow
            The window. Nothing is sent yet.
        """
        return ServedWindow(self, name)

    def windows(self) -> Iterator[dict[str, Any]]:
        """All windows in the order of their names.

        Returns
        -------
        iterator of dict
            Each as `put_window` gives it.
        """
        return self._items(pages("/v1/windows", "windows"))

    def delete_window(self, name: str) -> None:
        """Delete a window with its messages and subscriptions.

        Parameters
        ----------
        name : str
            Its name.
        """
        self._ask(calls.delete(calls.window_path(name)))

    def put_fence(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Make a fence, unless there is one with these options. `subscribe` names it.

        Parameters
        ----------
        name : str
            Its name.
        settings : mapping
            `key`, and optionally `where` and the options of `tocsin.Fences`.

        Returns
        -------
        dict
            The fence.

        Raises
        ------
        RecordError
            If an option cannot be used.
        """
        return self._ask(calls.put_fence(name, settings))

    def fence(self, name: str) -> dict[str, Any]:
        """A fence, with the number of its objects.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        dict
            The fence.
        """
        return self._ask(calls.describe(calls.fence_path(name)))

    def fences(self) -> Iterator[dict[str, Any]]:
        """All fences in the order of their names.

        Returns
        -------
        iterator of dict
            Each as `fence` gives it.
        """
        return self._items(pages("/v1/fences", "fences"))

    def delete_fence(self, name: str) -> None:
        """Delete a fence that no subscription names.

        Parameters
        ----------
        name : str
            Its name.
        """
        self._ask(calls.delete(calls.fence_path(name)))
