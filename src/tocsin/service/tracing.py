"""Requests by an id and a trace, which answers, problems and logs name; and the access log, a line for each request.

A client may send `X-Request-Id`, and `traceparent` as W3C Trace Context has it. Others get a new id.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ACCESS: Final = logging.getLogger("tocsin.access")
"""The access log. It is off unless its level is INFO."""
_ID: Final = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_PARENT: Final = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_NO_STORE: Final = (b"cache-control", b"no-store")
"""What tenants store is in no cache, unless an answer says otherwise."""
_NO_SNIFF: Final = (b"x-content-type-options", b"nosniff")
_TRACE: Final = "tocsin.trace"
_PROCESS: Final = secrets.token_hex(8)
_numbers: Final = itertools.count(1)
"""New ids are those of the process with a number: they need not be secret, and random ones take longer."""
_current: ContextVar[Trace | None] = ContextVar("tocsin-request", default=None)
Headers = Iterable[tuple[bytes, bytes]]


class Trace:
    """A request, from its head to the end of its answer."""

    __slots__ = ("begun", "id", "is_over", "parent", "size", "status", "tenant", "token")

    def __init__(self, headers: Headers = ()) -> None:
        id, parent = _shown(headers)
        self.id = id or f"{_PROCESS}{next(_numbers):016x}"
        self.parent = parent
        self.begun = time.perf_counter()
        self.status: int | None = None  # None: no answer was begun
        self.size = 0  # bytes of the answer's body
        self.token = self.tenant = ""
        self.is_over = False

    def log(self, scope: Scope) -> None:
        """Write the line of the access log. It has no query: a query may have parts of payloads."""
        path = scope.get("raw_path") or scope.get("path", "-").encode()
        fields: dict[str, Any] = {
            "address": (scope.get("client") or ("-",))[0],
            "method": scope.get("method", "-"),
            "path": path.decode("latin-1"),
            "status": self.status,
            "bytes": self.size,
            "duration_ms": round((time.perf_counter() - self.begun) * 1000, 3),
        }
        line = "%(address)s %(method)s %(path)s %(status)s %(bytes)d B %(duration_ms).1f ms"
        fields |= {name: text for name, text in (("token", self.token), ("tenant", self.tenant)) if text}
        ACCESS.info(line, fields, extra={"fields": fields})


def _shown(headers: Headers) -> tuple[str | None, str | None]:
    """The id and the `traceparent` that a request came with: each if it came once, and has its form."""
    ids, parents = list[bytes](), list[bytes]()
    for name, text in headers:  # once for both, as this is done for every request
        if name == b"x-request-id":
            ids.append(text)
        elif name == b"traceparent":
            parents.append(text)
    id = ids[0].decode() if len(ids) == 1 and _ID.fullmatch(ids[0]) else None
    return id, parents[0].decode() if len(parents) == 1 and _PARENT.fullmatch(parents[0]) else None


def current() -> Trace | None:
    """The request that this code works for. None for tasks that outlive the request that began them."""
    trace = _current.get()
    return None if trace is None or trace.is_over else trace


def trace_of(scope: Any) -> Trace:
    """The trace of a request, which is made when it is first asked for."""
    trace = scope.get(_TRACE)
    if not isinstance(trace, Trace):
        trace = scope[_TRACE] = Trace(scope.get("headers", ()))
    return trace


def completed(headers: Sequence[tuple[bytes, bytes]], trace: Trace) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, with those that every answer has."""
    names = [name for name, _ in headers]
    whole = [*headers, (b"x-request-id", trace.id.encode())]
    if b"cache-control" not in names:
        whole.append(_NO_STORE)
    if b"x-content-type-options" not in names:
        whole.append(_NO_SNIFF)
    return whole


class Traced:
    """Gives each request its trace, and each answer its headers and its line in the access log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace = trace_of(scope)
        _current.set(trace)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                if trace.status is None:  # otherwise the connection has answered, and this goes nowhere
                    trace.status = message["status"]
                message["headers"] = completed(message["headers"], trace)
            else:
                trace.size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            if ACCESS.isEnabledFor(logging.INFO):
                trace.log(scope)
            trace.is_over = True
