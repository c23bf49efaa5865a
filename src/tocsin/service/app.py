"""The ASGI application: all calls, and the console, behind the guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.service.api import Call, Endpoint, Shared
from tocsin.service.calls import (
    activity,
    audit,
    checking,
    deliveries,
    destinations,
    diagnosis,
    events,
    fences,
    interests,
    matching,
    operations,
    regions,
    removing,
    sending,
    sessions,
    streams,
    subscriptions,
    windows,
)
from tocsin.service.console import files
from tocsin.service.guard import LOOPBACK, EncodedPaths, Guarded
from tocsin.service.problems import Problem
from tocsin.service.tracing import Traced

_OF_RESOURCES: Final[Sequence[Call]] = (
    *events.CALLS,
    *subscriptions.CALLS,
    *removing.CALLS,
    *diagnosis.CALLS,
    *matching.CALLS,
    *checking.CALLS,
    *destinations.CALLS,
    *deliveries.CALLS,
    *streams.CALLS,
    *sending.CALLS,
    *windows.CALLS,
    *interests.CALLS,
    *fences.CALLS,
    *audit.CALLS,
    *sessions.CALLS,
    *activity.CALLS,
    *regions.CALLS,
)
CALLS: Final[Sequence[Call]] = (*_OF_RESOURCES, *operations.calls(_OF_RESOURCES))


class _Nothing:
    """The answer for paths without a call: that there is nothing, to those who may know it."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        try:
            self._shared.sender(Request(scope))
            response = Problem(404, "unknown", "there is nothing at this path").response()
        except Problem as denied:
            response = denied.response()
        await response(scope, receive, send)


class _Console:
    """The console, as an application: a route calls a plain function with a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await files.serve(scope, receive, send)


def make_app(shared: Shared, hosts: frozenset[str] | None = LOOPBACK) -> ASGIApp:
    """The application of a server, which answers to some `hosts`; None: to any."""
    paths: dict[str, list[Call]] = {}
    for call in CALLS:
        paths.setdefault(call.path, []).append(call)
    routes = [Route(path, Endpoint(shared, calls)) for path, calls in paths.items()]
    routes += [Route(path, _Console()) for path in (files.PAGE, f"{files.FOLDER}{{name}}")]
    router = Router(routes, redirect_slashes=False, default=_Nothing(shared))
    return Traced(Guarded(EncodedPaths(router), hosts, frozenset((files.PAGE,))))
