"""What operators ask: whether the server lives and is ready, its metrics, and the documents about the interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.responses import Response

from tocsin.service import openapi
from tocsin.service.api import Call, Exchange, Shared, answered
from tocsin.service.metrics import text_of
from tocsin.service.principals import OPERATE, READ
from tocsin.service.problems import Problem


async def healthz(exchange: Exchange) -> Response:
    return answered({"status": "ok"})


async def readyz(exchange: Exchange) -> Response:
    reason = exchange.shared.tenants.not_ready()
    left_s = exchange.shared.authentication.tokens.left_s
    if left_s == 0:
        reason = reason or "the file of the tokens cannot be read, so that no token is valid; the log has the reason"
    if reason:
        raise Problem(503, "not-ready", reason)
    status: dict[str, Any] = {"status": "ready"}
    if left_s:
        valid = f"those that were read last stay valid for {left_s:.0f} s"
        status["warning"] = f"the file of the tokens cannot be read; {valid}, and the log has the reason"
    if not exchange.shared.authentication.needs_token:  # how many changes there were is not for everybody
        status["sequence"] = exchange.service.engine.sequence
    return answered(status)


async def metrics(exchange: Exchange) -> Response:
    """The metrics of the principal's tenant; an operator of the default tenant sees those of all."""
    shared = exchange.shared
    is_operator = OPERATE in exchange.principal.scopes and not exchange.tenant
    shown = list(shared.tenants) if is_operator else [(exchange.tenant, exchange.service)]
    parts = [(name, service.metrics) for name, service in shown]
    body = text_of(parts, _of_server(shared) if is_operator else ())
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")


def _of_server(shared: Shared) -> Iterator[Metric]:
    """The metrics that no tenant has by itself."""
    authentication = shared.authentication
    about = "Requests without a token, or a scope, by status"
    denied = CounterMetricFamily("tocsin_denied", about, labels=["status"])
    for status, count in authentication.denied.items():
        denied.add_metric([str(status)], count)
    yield denied
    yield GaugeMetricFamily("tocsin_tenants", "Tenants that are open", len(list(shared.tenants)))
    yield GaugeMetricFamily("tocsin_connections", "Connections that are open", len(shared.connections))
    about = "Connections that a limit refused: of the server, or of an address"
    refused = CounterMetricFamily("tocsin_connections_refused", about, labels=["limit"])
    for limit, count in shared.connections.refused.items():
        refused.add_metric([limit], count)
    yield refused
    is_readable = authentication.tokens.left_s is None
    yield GaugeMetricFamily("tocsin_tokens_readable", "1 if the file of the tokens can be read", int(is_readable))


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
        Call("GET", "/metrics", metrics, OPERATE, "Metrics for Prometheus", media_type="text/plain", also=(READ,)),
        Call("GET", "/openapi.json", document, None, "This interface as an OpenAPI 3.1 document", gives="Anything"),
        Call("GET", "/docs", page, None, "This interface as a page", media_type="text/html"),
    ]
    whole = [*others, *own]
    return own
