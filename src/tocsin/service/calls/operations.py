"""What operators ask: whether the server lives and is ready, its metrics, and the documents about the interface."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from tocsin.service import openapi
from tocsin.service.api import Call, Exchange, answered
from tocsin.service.principals import OPERATE
from tocsin.service.problems import Problem


async def healthz(exchange: Exchange) -> Response:
    return answered({"status": "ok"})


async def readyz(exchange: Exchange) -> Response:
    reason = exchange.service.not_ready()
    if reason:
        raise Problem(503, "not-ready", reason)
    return answered({"status": "ready", "sequence": exchange.service.engine.sequence})


async def metrics(exchange: Exchange) -> Response:
    return Response(exchange.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def calls(others: Sequence[Call]) -> list[Call]:
    """The calls of this module; two of them describe these and the `others`."""

    async def document(exchange: Exchange) -> Response:
        return answered(openapi.document(whole))

    async def page(exchange: Exchange) -> Response:
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return Response(openapi.page(whole), headers={"Content-Security-Policy": policy}, media_type="text/html")

    own = [
        Call("GET", "/healthz", healthz, None, "Whether the process answers", gives="Status"),
        Call("GET", "/readyz", readyz, None, "Whether it takes changes", gives="Status", problems=(503,)),
        Call("GET", "/metrics", metrics, OPERATE, "Metrics for Prometheus", media_type="text/plain"),
        Call("GET", "/openapi.json", document, None, "This interface as an OpenAPI 3.1 document", gives="Anything"),
        Call("GET", "/docs", page, None, "This interface as a page", media_type="text/html"),
    ]
    whole = [*others, *own]
    return own
