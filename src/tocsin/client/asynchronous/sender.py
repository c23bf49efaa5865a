"""Sending of requests, for programs that await."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self, TypeVar

from tocsin.client.calls import Ask
from tocsin.client.conversations import END, Conversation, Item, answered
from tocsin.client.sending import Trying, async_sleep, checked_seconds, httpx, options_of
from tocsin.errors import ServiceError

Result = TypeVar("Result")


class AsyncSender:
    """The part of `AsyncClient` that sends."""

    def __init__(self, url: str, token: str | None, timeout_s: float, retry_s: float) -> None:
        self._url, self._retry_s = url, checked_seconds(retry_s)
        self._http = httpx().AsyncClient(**options_of(url, token, timeout_s))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, ask: Ask[Result]) -> Result:
        """Send a request until its answer is final."""
        trying = Trying(self._retry_s, may_repeat=ask.may_repeat)
        while True:
            try:
                answer = await self._http.request(
                    ask.method, ask.path, params=ask.params, content=ask.body, headers=ask.headers
                )
            except httpx().TransportError as error:
                await async_sleep(trying.after_failure(error, self._url))
                continue
            pause = trying.after_answer(answer.status_code, answer.headers)
            if pause is None:
                return ask.answer(answer.status_code, answer.content)
            await async_sleep(pause)

    async def _items(self, conversation: Conversation[Item]) -> AsyncIterator[Item]:
        """What a conversation finds. Its requests are sent when the next item is asked for."""
        step: Any = next(conversation, END)
        while step is not END:
            if isinstance(step, Ask):
                try:
                    answer = await self._ask(step)
                except ServiceError as error:
                    answer = error
                step = answered(conversation, answer)
            else:
                yield step
                step = next(conversation, END)

    async def _all(self, conversation: Conversation[Item]) -> list[Item]:
        """All items of a conversation."""
        return [item async for item in self._items(conversation)]

    async def _only(self, conversation: Conversation[Item]) -> Item:
        """The item of a conversation that finds one."""
        return await anext(aiter(self._items(conversation)))
