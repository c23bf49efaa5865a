"""The documents about the interface say what the calls are."""

from __future__ import annotations

import re
import sys
import threading

import pytest

from tests.service.served import Served
from tocsin.service.app import CALLS


def test_the_openapi_document_has_every_call_and_every_schema(server: Served) -> None:
    document = server.client.get("/openapi.json").json()
    named = set(re.findall(r"#/components/schemas/(\w+)", str(document)))

    assert document["openapi"].startswith("3.1")
    calls = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert calls == {(call.method, call.path) for call in CALLS}
    assert named <= set(document["components"]["schemas"])
    ids = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))


def test_the_page_loads_nothing_from_elsewhere(server: Served) -> None:
    answer = server.client.get("/docs")

    assert "<script" not in answer.text and "http:" not in answer.text.replace("HTTP", "").replace("'/openapi", "")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert all(f"{call.method} {call.path}" in answer.text for call in CALLS)


def test_health_and_metrics(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    server.publish({"n": 1})
    text = server.client.get("/metrics").text

    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert server.client.head("/healthz").status_code == 200
    assert 'tocsin_backlog{destination="d"} 1.0' in text
    for line in (
        "tocsin_events_total 1.0",
        "tocsin_deliveries_total 1.0",
        "tocsin_subscriptions 1.0",
        "tocsin_ready 1.0",
    ):
        assert line in text
    assert re.search(r"^tocsin_wal_bytes [1-9]", text, re.MULTILINE)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have few of these metrics")
def test_metrics_of_the_process_have_the_names_that_dashboards_know(server: Served) -> None:
    text = server.client.get("/metrics").text
    names = ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds", "threads")
    values = {name: float(re.findall(rf"^process_{name} (\S+)$", text, re.MULTILINE)[0]) for name in names}

    assert all(value > 0 for value in values.values())
    assert values["threads"] >= threading.active_count()
    token = server.token("read")
    assert "process_" not in server.client_of(token).get("/metrics").text  # they are of the whole server
