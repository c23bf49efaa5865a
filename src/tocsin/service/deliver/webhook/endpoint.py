"""Requests to a URL, over connections to addresses that were checked.

Each attempt resolves the name and checks all its addresses. The connection goes to one of these addresses, and not to
the name, so that a second look-up cannot lead elsewhere (DNS rebinding). `Host` and TLS have the name.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import httpx

from tocsin.service.deliver.certificates import trusted
from tocsin.service.deliver.resolver import Resolver, Unreachable
from tocsin.service.deliver.webhook.urls import Url, parsed_url

TIMEOUT_S: Final = 15.0
_CONNECT_S: Final = 5.0
_MOST_ANSWER: Final = 4096
_MOST_TRIED: Final = 3
_IDLE_S: Final = 30.0
"""A connection that was not used for longer is not used again."""
_ONE: Final = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_IDLE_S)


class Answer(NamedTuple):
    """What an endpoint answered."""

    status: int
    retry_after: str | None
    text: str  # the beginning of the body


class Connections:
    """Connections that are open: each is a transport of its own, used by one request at a time.

    A pool of httpx looks at all of its connections for each request, several times: with 16 of them this took four
    times as long as the request.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._idle: deque[tuple[httpx.AsyncHTTPTransport, float]] = deque()  # the one that was used last at the end

    @asynccontextmanager
    async def one(self) -> AsyncIterator[httpx.AsyncHTTPTransport]:
        """A connection, for one request. It may be open still."""
        now = asyncio.get_running_loop().time()
        while self._idle and now - self._idle[0][1] > _IDLE_S:
            await _closed(self._idle.popleft()[0])
        if self._idle:
            transport, _ = self._idle.pop()
        else:
            transport = httpx.AsyncHTTPTransport(verify=self._context or trusted(), trust_env=False, limits=_ONE)
        try:
            yield transport
        except BaseException:
            await _closed(transport)
            raise
        self._idle.append((transport, asyncio.get_running_loop().time()))

    async def close(self) -> None:
        """Close those that no request uses."""
        while self._idle:
            await _closed(self._idle.pop()[0])


async def _closed(transport: httpx.AsyncHTTPTransport) -> None:
    with suppress(httpx.HTTPError, OSError):
        await transport.aclose()


class Endpoint:
    """A URL to which deliveries are posted. It follows no redirect, keeps no cookies and knows no proxy."""

    def __init__(
        self, url: str, resolver: Resolver, *, allow_private: bool = False, context: ssl.SSLContext | None = None
    ) -> None:
        self._url, self._resolver, self._allow_private = parsed_url(url), resolver, allow_private
        self._connections = Connections(context)
        self._last = ""  # the address of the last connection

    async def post(self, headers: Mapping[str, str], body: bytes, target: str | None = None) -> Answer:
        """The answer to a request, or `Unreachable`. It takes at most 15 s in all.

        A `target` is a path with its query, instead of that of the URL.
        """
        url = self._url if target is None else self._url._replace(target=target)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._post(url, headers, body)
        except TimeoutError:
            raise Unreachable(f"there was no answer within {TIMEOUT_S:g} s") from None

    async def _post(self, url: Url, headers: Mapping[str, str], body: bytes) -> Answer:
        addresses = await self._resolver.permitted(url, allow_private=self._allow_private)
        addresses.sort(key=lambda one: one != self._last)  # its connection may be open still
        for place, address in enumerate(addresses[:_MOST_TRIED], 1):
            try:
                answer = await self._sent(url, address, headers, body)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if place == len(addresses[:_MOST_TRIED]):
                    raise Unreachable(f"{address} cannot be connected to ({error or type(error).__name__})") from None
            except (httpx.HTTPError, OSError) as error:
                raise Unreachable(f"the connection failed ({type(error).__name__}: {error})") from None
            else:
                self._last = address
                return answer
        raise AssertionError("there is at least one address")

    async def _sent(self, url: Url, address: str, headers: Mapping[str, str], body: bytes) -> Answer:
        extensions: dict[str, Any] = {
            "timeout": {"connect": _CONNECT_S, "read": TIMEOUT_S, "write": TIMEOUT_S, "pool": TIMEOUT_S}
        }
        if not url.is_address:
            extensions["sni_hostname"] = url.host
        request = httpx.Request(
            "POST",
            url.at(address),
            headers={"host": url.authority, "accept-encoding": "identity", **headers},
            content=body,
            extensions=extensions,
        )
        async with self._connections.one() as transport:
            response = await transport.handle_async_request(request)
            try:
                text = await _beginning(response)
            finally:
                await response.aclose()
        return Answer(response.status_code, response.headers.get("retry-after"), text)

    async def close(self) -> None:
        """Close the connections; the next request opens others."""
        await self._connections.close()


async def _beginning(response: httpx.Response) -> str:
    """At most the first 4 KB of the body. One that breaks off is not an error: the status was told."""
    parts: list[bytes] = []
    size = 0
    with suppress(httpx.HTTPError):
        async for part in response.stream:  # type: ignore[union-attr]
            parts.append(part[: _MOST_ANSWER - size])
            size += len(parts[-1])
            if size >= _MOST_ANSWER:
                break
    return b"".join(parts).decode(errors="replace")
