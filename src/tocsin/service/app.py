"""The ASGI application: all calls behind the guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.service.access.authentication import Authentication
from tocsin.service.api import Call, Endpoint, Shared
from tocsin.service.calls import (
    audit,
    checking,
    deliveries,
    destinations,
    events,
    fences,
    matching,
    operations,
    streams,
    subscriptions,
    webhooks,
    windows,
)
from tocsin.service.guard import LOOPBACK, EncodedPaths, Guarded
from tocsin.service.problems import Problem

_OF_RESOURCES: Final[Sequence[Call]] = (
    *events.CALLS,
    *subscriptions.CALLS,
    *matching.CALLS,
    *checking.CALLS,
    *destinations.CALLS,
    *deliveries.CALLS,
    *streams.CALLS,
    *webhooks.CALLS,
    *windows.CALLS,
    *fences.CALLS,
    *audit.CALLS,
)
CALLS: Final[Sequence[Call]] = (*_OF_RESOURCES, *operations.calls(_OF_RESOURCES))


class _Nothing:
    """The answer for paths without a call: that there is nothing, to those who may know it."""

    def __init__(self, authentication: Authentication) -> None:
        self._authentication = authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        try:
            self._authentication.principal(Headers(scope=scope))
            problem = Problem(404, "unknown", "there is nothing at this path")
        except Problem as denied:
            problem = denied
        await problem.response()(scope, receive, send)


def make_app(shared: Shared, hosts: frozenset[str] | None = LOOPBACK) -> ASGIApp:
    """The application of a server, which answers to some `hosts`; None: to any."""
    paths: dict[str, list[Call]] = {}
    for call in CALLS:
        paths.setdefault(call.path, []).append(call)
    routes = [Route(path, Endpoint(shared, calls)) for path, calls in paths.items()]
    router = Router(routes, redirect_slashes=False, default=_Nothing(shared.authentication))
    return Guarded(EncodedPaths(router), hosts)
