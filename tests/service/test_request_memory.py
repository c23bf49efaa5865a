"""Memory of a request: it is free again when the request is answered, without the garbage collector."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator

import pytest
from starlette.requests import Request

from tests.service.served import Served
from tests.waiting import awaited

JSON, LINES, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
REQUESTS = {
    "a subscription": (201, "PUT", "/v1/subscriptions/a", JSON, '{"where": "n = 1"}'),
    "a large payload": (
        422,
        "PUT",
        "/v1/subscriptions/b",
        JSON,
        json.dumps({"where": "n = 1", "payload": "x" * 70_000}),
    ),
    "a condition that is wrong": (422, "PUT", "/v1/subscriptions/b", JSON, '{"where": "n ="}'),
    "a member that is wrong": (422, "PUT", "/v1/subscriptions/b", JSON, '{"where": "n = 1", "score": "x"}'),
    "no destination": (422, "PUT", "/v1/subscriptions/b", JSON, '{"where": "n = 1", "destination": "none"}'),
    "no JSON": (400, "PUT", "/v1/subscriptions/b", JSON, "{"),
    "no object": (400, "PUT", "/v1/subscriptions/b", JSON, "[1]"),
    "deep JSON": (400, "POST", "/v1/events", JSON, "[" * 100_000),
    "a surrogate": (400, "POST", "/v1/events", JSON, '{"n": "\\ud800"}'),
    "an event": (202, "POST", "/v1/events", JSON, '{"n": 1}'),
    "lines": (202, "POST", "/v1/events", LINES, '{"n": 1}\n{"n": 2}\n'),
    "lines that are wrong": (202, "POST", "/v1/events", LINES, '{"n": "\\ud800"}\n{"n"\n[]\n'),
    "a bulk": (200, "POST", "/v1/subscriptions", LINES, '{"id": "c", "where": "n ="}\n{"id": "d", "where": "n = 1"}\n'),
    "no table": (400, "POST", "/v1/subscriptions", ARROW, "none"),
    "a match": (200, "POST", "/v1/match", JSON, '{"n": 1}'),
    "a match with lines": (200, "POST", "/v1/match", LINES, '{"n": 1}\n{"n"\n'),
    "a wrong option": (400, "POST", "/v1/match?top=x", JSON, '{"n": 1}'),
    "another type": (415, "POST", "/v1/match", "text/plain", "x"),
    "nothing there": (404, "GET", "/v1/subscriptions/none", JSON, ""),
    "another method": (405, "POST", "/v1/subscriptions/none", JSON, "{}"),
    "no path": (404, "POST", "/v1/none", JSON, "{}"),
    "a message without a window": (404, "POST", "/v1/windows/none/messages", JSON, "{}"),
    "a check": (200, "POST", "/v1/check", JSON, '{"where": "n ="}'),
}


def requests() -> int:
    """The requests that are in memory."""
    return sum(isinstance(one, Request) for one in gc.get_objects())


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_request_that_is_answered_is_free(server: Served, uncollected: None) -> None:
    """Whatever its answer is. Else refused bodies would fill the memory until the collector runs."""
    before = requests()
    for name, (status, method, path, type, body) in REQUESTS.items():
        answer = server.client.request(method, path, content=body, headers={"Content-Type": type})
        assert answer.status_code == status, f"{name}: {answer.text}"
        awaited(lambda: requests() <= before)
