"""The ASGI application: all calls behind the guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.service.api import Call, Endpoint
from tocsin.service.calls import (
    checking,
    deliveries,
    destinations,
    events,
    matching,
    operations,
    streams,
    subscriptions,
)
from tocsin.service.guard import EncodedPaths, LoopbackOnly
from tocsin.service.problems import Problem
from tocsin.service.service import Service

_OF_RESOURCES: Final[Sequence[Call]] = (
    *events.CALLS,
    *subscriptions.CALLS,
    *matching.CALLS,
    *checking.CALLS,
    *destinations.CALLS,
    *deliveries.CALLS,
    *streams.CALLS,
)
CALLS: Final[Sequence[Call]] = (*_OF_RESOURCES, *operations.calls(_OF_RESOURCES))


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1003})
        return
    await Problem(404, "unknown", "there is nothing at this path").response()(scope, receive, send)


def make_app(service: Service) -> ASGIApp:
    """The application of a service."""
    paths: dict[str, list[Call]] = {}
    for call in CALLS:
        paths.setdefault(call.path, []).append(call)
    routes = [Route(path, Endpoint(service, calls)) for path, calls in paths.items()]
    return LoopbackOnly(EncodedPaths(Router(routes, redirect_slashes=False, default=_nothing)))
