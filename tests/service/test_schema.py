"""Requests that schemathesis makes from the OpenAPI document: each has an answer that the document describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.served import Served, served
from tests.sizes import sized
from tocsin.service import openapi
from tocsin.service.app import CALLS

_CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_ENDLESS: Final = "/stream$"
SCHEMA: Final = schemathesis.openapi.from_dict(openapi.document(CALLS)).exclude(path_regex=_ENDLESS)
_ALL: Final = list(HealthCheck)


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def as_it_is(context: Any, value: Any) -> bytes:
    """A body that is a text in the document."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A server with some things in it, and headers of a client with every scope."""
    with served(tmp_path_factory.mktemp("alerts")) as server:
        text = server.token()
        server.client = server.client_of(text)
        fill(server)
        yield str(server.client.base_url).rstrip("/"), {"Authorization": f"Bearer {text}"}


def fill(server: Served) -> None:
    for name in ("0", "d"):
        server.destination(name)
        server.subscribe(name, "n >= 0", destination=name)
    server.client.put("/v1/fences/0", json={"key": "v"})
    server.client.put("/v1/windows/0", json={"size": 9, "bounds": [0, 0, 9, 9]})
    server.client.put("/v1/windows/0/subscriptions/0", json={"words": ["a"], "location": [1, 1], "destination": "0"})
    server.publish({"n": 1})


def ask(case: schemathesis.Case, address: tuple[str, dict[str, str]]) -> None:
    """Send a request, and check the answer."""
    if isinstance(case.query, dict):
        case.query.pop("wait", None)
    base_url, headers = address
    response = case.call(base_url=base_url, headers=headers)
    case.validate_response(response, checks=_CHECKS, headers=headers)


@SCHEMA.parametrize()
@settings(max_examples=sized(15, 1000), suppress_health_check=_ALL)
def test_every_answer_is_in_the_document(case: schemathesis.Case, address: tuple[str, dict[str, str]]) -> None:
    ask(case, address)
