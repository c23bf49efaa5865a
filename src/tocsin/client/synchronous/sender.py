# Made by scripts/synchronous_client.py from asynchronous/sender.py: change that file, then run: make client
"""Sending of requests, for programs that block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, TypeVar

from tocsin.client.calls import Ask
from tocsin.client.conversations import END, Conversation, Item, answered
from tocsin.client.sending import Trying, checked_seconds, httpx, options_of, sleep
from tocsin.errors import ServiceError

Result = TypeVar("Result")


class Sender:
    """The part of `Client` that sends."""

    def __init__(self, url: str, token: str | None, timeout_s: float, retry_s: float) -> None:
        self._url, self._retry_s = url, checked_seconds(retry_s)
        self._http = httpx().Client(**options_of(url, token, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _ask(self, ask: Ask[Result]) -> Result:
        """Send a request until its answer is final."""
        trying = Trying(self._retry_s, may_repeat=ask.may_repeat)
        while True:
            try:
                answer = self._http.request(
                    ask.method, ask.path, params=ask.params, content=ask.body, headers=ask.headers
                )
            except httpx().TransportError as error:
                sleep(trying.after_failure(error, self._url))
                continue
            pause = trying.after_answer(answer.status_code, answer.headers)
            if pause is None:
                return ask.answer(answer.status_code, answer.content)
            sleep(pause)

    def _items(self, conversation: Conversation[Item]) -> Iterator[Item]:
        """What a conversation finds. Its requests are sent when the next item is asked for."""
        step: Any = next(conversation, END)
        while step is not END:
            if isinstance(step, Ask):
                try:
                    answer = self._ask(step)
                except ServiceError as error:
                    answer = error
                step = answered(conversation, answer)
            else:
                yield step
                step = next(conversation, END)

    def _all(self, conversation: Conversation[Item]) -> list[Item]:
        """All items of a conversation."""
        return list(self._items(conversation))

    def _only(self, conversation: Conversation[Item]) -> Item:
        """The item of a conversation that finds one."""
        return next(iter(self._items(conversation)))
