"""What operators ask: whether the server lives and is ready, its metrics, and the documents about the interface."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.responses import Response

from tocsin.service import openapi
from tocsin.service.api import IF_CHANGED, Call, Exchange, Shared, answered, versioned
from tocsin.service.clock import RememberClock
from tocsin.service.metrics import text_of
from tocsin.service.principals import OPERATE, READ
from tocsin.service.problems import Problem, conflict
from tocsin.service.times import time_text

_PROCESS: Final = ProcessCollector(registry=None)


async def healthz(exchange: Exchange) -> Response:
    return answered({"status": "ok"})


async def readyz(exchange: Exchange) -> Response:
    default = exchange.shared.tenants.get("")  # the trouble of another tenant is its own
    reason, document = (None, {}) if default is None else (default.readiness.reason(), default.readiness.document())
    left_s = exchange.shared.authentication.tokens.left_s
    if left_s == 0:
        reason = reason or "the file of the tokens cannot be read, so that no token is valid; the log has the reason"
    if reason:
        raise Problem(503, "not-ready", reason, **document)
    status: dict[str, Any] = {"status": "ready", **document}
    if warnings := list(_warnings(exchange.shared)):
        status["warning"] = ". ".join(warnings)
    if not exchange.shared.authentication.needs_token:  # how many changes there were is not for everybody
        status["sequence"] = exchange.service.engine.sequence
    return answered(status)


def _warnings(shared: Shared) -> Iterator[str]:
    """Troubles in which the server still takes changes."""
    if left_s := shared.authentication.tokens.left_s:
        valid = f"those that were read last stay valid for {left_s:.0f} s"
        yield f"the file of the tokens cannot be read; {valid}, and the log has the reason"
    limits = shared.tenants.live_limits
    if limits is not None and not limits.is_readable:
        yield "the file of the limits cannot be read; those that were read last stay valid, and the log has the reason"
    if troubled := shared.tenants.troubled():
        yield f"{len(troubled)} tenants take no changes; the log has the reasons, and /metrics the names"
    default = shared.tenants.get("")
    if default is None:
        yield "the default tenant is left out; the log has the reason"
    elif windows := default.readiness.troubled_windows():
        yield f"{len(windows)} windows take no messages; the log has the reasons, and /metrics the names"
    if shared.tenants.clock.jump_ms:
        yield "the clock jumped ahead, so that nothing is deleted by its age; see /v1/clock"


async def clock(exchange: Exchange) -> Response:
    clock = exchange.shared.tenants.clock
    now = clock.look()
    return answered({"time": time_text(now.wall), "jump_s": clock.jump_ms / 1000, "expires": clock.is_right})


async def confirm_clock(exchange: Exchange) -> Response:
    if exchange.tenant:
        raise conflict("the clock is that of the whole server; a token of the default tenant confirms it")
    clock = exchange.shared.tenants.clock
    jump_ms = clock.confirm()
    if clock.mark is not None:
        await exchange.commit(RememberClock(clock.mark))
    return answered({"time": time_text(clock.now_ms()), "confirmed_s": jump_ms / 1000})


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
    ready = GaugeMetricFamily("tocsin_ready", "1 if a tenant takes changes", labels=["tenant"])
    default = shared.tenants.get("")
    ready.add_metric([""], int(default is not None and not default.readiness.reason()))
    troubled = shared.tenants.troubled()
    for name in sorted({one for one, _ in shared.tenants if one} | set(troubled)):
        ready.add_metric([name], int(name not in troubled))
    yield ready
    yield GaugeMetricFamily("tocsin_tenants", "Tenants that are open", len(list(shared.tenants)))
    yield GaugeMetricFamily("tocsin_connections", "Connections that are open", len(shared.connections))
    about = "Connections that a limit refused: of the server, or of an address"
    refused = CounterMetricFamily("tocsin_connections_refused", about, labels=["limit"])
    for limit, count in shared.connections.refused.items():
        refused.add_metric([limit], count)
    yield refused
    about = "How far the clock jumped ahead; above 0 nothing is deleted by its age"
    yield GaugeMetricFamily("tocsin_clock_jump_seconds", about, shared.tenants.clock.jump_ms / 1000)
    is_readable = authentication.tokens.left_s is None
    yield GaugeMetricFamily("tocsin_tokens_readable", "1 if the file of the tokens can be read", int(is_readable))
    yield from _of_process()


def _of_process() -> Iterator[Metric]:
    """The metrics that all programs name alike: `process_cpu_seconds_total` and others, as far as the system has them.

    Linux has all of them.
    """
    yield from _PROCESS.collect()
    with suppress(OSError):
        threads = sum(1 for _ in os.scandir("/proc/self/task"))
        yield GaugeMetricFamily("process_threads", "Number of OS threads in the process.", threads)


def calls(others: Sequence[Call]) -> list[Call]:
    """The calls of this module; two of them describe these and the `others`."""

    @lru_cache(1)
    def described() -> tuple[dict[str, Any], str]:
        document = openapi.document(whole)
        return document, f'"{hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]}"'

    async def document(exchange: Exchange) -> Response:
        return versioned(exchange, *described())

    async def page(exchange: Exchange) -> Response:
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return Response(openapi.page(whole), headers={"Content-Security-Policy": policy}, media_type="text/html")

    own = [
        Call("GET", "/healthz", healthz, None, "Whether the process answers", gives="Status"),
        Call("GET", "/readyz", readyz, None, "Whether it takes changes", gives="Status", problems=(503,)),
        Call("GET", "/metrics", metrics, OPERATE, "Metrics for Prometheus", media_type="text/plain", also=(READ,)),
        Call("GET", "/v1/clock", clock, OPERATE, "The time of the server, and whether it jumped ahead", gives="Clock"),
        Call(
            "POST", "/v1/clock/confirm", confirm_clock, OPERATE,
            "Trust the time after it jumped ahead: what is old is deleted again", gives="ClockConfirmed",
            problems=(409, 503, 507),
        ),
        Call(
            "GET", "/openapi.json", document, None, "This interface as an OpenAPI 3.1 document", (IF_CHANGED,),
            gives="Anything", tells=("ETag",), is_versioned=True,
        ),
        Call("GET", "/docs", page, None, "This interface as a page", media_type="text/html"),
    ]  # fmt: skip
    whole = [*others, *own]
    return own
