"""The OpenAPI document tells what the service does: its examples are accepted, and answers are as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema_rs
import pytest

from tests.service.receivers import Clock, hook, publish, receiver
from tests.service.served import Served, events_of, served
from tests.waiting import awaited
from tocsin.service import openapi
from tocsin.service.api import Call
from tocsin.service.app import CALLS
from tocsin.service.examples import EXAMPLES, OF_ANSWERS

DOCUMENT: Final = openapi.document(CALLS)
NAMES: Final = {"id": "mobile", "name": "news", "sequence": "1"}


def operation(call: Call) -> Mapping[str, Any]:
    found: Mapping[str, Any] = DOCUMENT["paths"][call.path][call.method.lower()]
    return found


def validator(name: str) -> Any:
    return jsonschema_rs.validator_for(
        {"$ref": f"#/components/schemas/{name}", "components": {"schemas": DOCUMENT["components"]["schemas"]}}
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with what the examples name."""
    with served(tmp_path_factory.mktemp("alerts")) as server:
        server.destination("mobile")
        server.subscribe("mobile", "price <= 580", destination="mobile")
        server.client.put("/v1/windows/news", json={"time": 3600, "bounds": [-180, -90, 180, 90]})
        interest = {"words": ["fresh"], "location": [2, 48]}
        server.client.put("/v1/windows/news/subscriptions/mobile", json=interest)
        server.client.put("/v1/fences/news", json={"key": "vehicle"})
        server.publish({"price": 1})
        yield server


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.method} {call.path}")
def test_each_call_is_in_one_group_and_its_headers_are_known(call: Call) -> None:
    found = operation(call)

    assert found["tags"] == [openapi.tag_of(call)] and openapi.tag_of(call) in [one["name"] for one in DOCUMENT["tags"]]
    for answer in found["responses"].values():
        assert "X-Request-Id" in answer["headers"]
        assert set(answer["headers"]) <= set(DOCUMENT["components"]["headers"])


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_are_of_their_schemas(name: str) -> None:
    assert list(validator(name).iter_errors(EXAMPLES[name])) == []
    assert list(validator(name).iter_errors(OF_ANSWERS.get(name, EXAMPLES[name]))) == []


def test_every_schema_of_a_document_has_an_example() -> None:
    named = {name for call in CALLS for name in (*call.takes.values(), call.gives) if name}
    assert named - set(EXAMPLES) == {"Lines", "Arrow", "Anything"}


def _bodies() -> Iterator[tuple[Call, str]]:
    for call in CALLS:
        for kind in operation(call).get("requestBody", {}).get("content", {}):
            is_elsewhere = call.path.endswith(
                ("rotate-secret", "/test", "/preview", "/session")
            )  # the next test has these
            if kind != "application/vnd.apache.arrow.stream" and not is_elsewhere:
                yield call, kind


@pytest.mark.parametrize(("call", "kind"), list(_bodies()), ids=lambda one: getattr(one, "path", one))
def test_examples_of_requests_are_accepted(shared: Served, call: Call, kind: str) -> None:
    example = operation(call)["requestBody"]["content"][kind]["example"]
    path, names = call.path, NAMES
    if call.method == "PUT":  # others make something new
        names = {"id": "new", "name": "news" if "{id}" in call.path else "new"}
    for name, text in names.items():
        path = path.replace(f"{{{name}}}", text)
    body = example if isinstance(example, str) else json.dumps(example)
    answer = shared.client.request(call.method, path, content=body.encode(), headers={"Content-Type": kind})

    assert answer.status_code in (call.status, 201), answer.text
    if answer.headers["content-type"] == "application/json" and call.gives is not None:
        assert list(validator(call.gives).iter_errors(answer.json())) == []
        assert answer.json().get("errors", []) == []
    told = set(operation(call)["responses"][str(answer.status_code)]["headers"])
    sent = {name for name in DOCUMENT["components"]["headers"] if name.lower() in answer.headers}
    assert sent <= told and told - sent <= {"Idempotent-Replayed"}


def test_examples_of_webhooks_and_sessions_are_accepted(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url)
        rotated = server.client.post("/v1/destinations/w/rotate-secret", json=EXAMPLES["Rotation"])
        tested = server.client.post("/v1/destinations/w/test", json=EXAMPLES["Test"])
        previewed = server.client.post("/v1/destinations/w/preview", json=EXAMPLES["Preview"])
    for answer, name in ((rotated, "Rotated"), (tested, "Attempt"), (previewed, "Previewed")):
        assert answer.status_code == 200 and list(validator(name).iter_errors(answer.json())) == []
    login = server.client.post("/v1/session", json=EXAMPLES["Login"])  # no token is needed here
    assert login.status_code == 200 and list(validator("Session").iter_errors(login.json())) == []


@pytest.mark.parametrize("call", [call for call in CALLS if call.method == "GET"], ids=lambda call: call.path)
def test_answers_have_the_headers_that_are_told(shared: Served, call: Call) -> None:
    if call.media_type == "text/event-stream":
        return
    path = call.path
    for name, text in NAMES.items():
        path = path.replace(f"{{{name}}}", text)
    answer = shared.client.get(path)
    told = operation(call)["responses"].get(str(answer.status_code), {}).get("headers", {})
    sent = {name for name in DOCUMENT["components"]["headers"] if name.lower() in answer.headers}

    assert sent == set(told), answer.text
    if call.is_versioned:
        known = shared.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert known.status_code == 304 and "304" in operation(call)["responses"]


def test_events_of_streams_are_as_told(shared: Served) -> None:
    schema = DOCUMENT["components"]["schemas"]["Stream"]
    kinds = {kind: reference["$ref"].rpartition("/")[2] for kind, reference in schema["x-events"].items()}
    position = shared.client.get("/v1/destinations/mobile").json()["epoch"]
    for path, headers in (
        ("/v1/destinations/mobile/stream?from=earliest", {}),
        ("/v1/destinations/mobile/stream", {"Last-Event-ID": f"{position}-999999"}),
    ):
        with shared.client.stream("GET", path, headers=headers) as stream:
            seen = []
            for one in events_of(stream):
                assert list(validator(kinds[one.kind]).iter_errors(one.data)) == []
                seen.append(one.kind)
                if len(seen) == 2:
                    break
        assert seen == (["gap", "open"] if headers else ["open", "message"])
    content = operation(next(call for call in CALLS if call.path == "/v1/stream"))["responses"]["200"]["content"]
    example = content["text/event-stream"]["example"]
    datas = [json.loads(data) for data in re.findall("data: (.*)", example)]
    for name, data in zip(("StreamOpen", "Delivery"), datas, strict=True):
        assert list(validator(name).iter_errors(data)) == []


def test_requests_of_webhooks_are_as_told(server: Served) -> None:
    clock = Clock(server)
    with receiver() as one:
        hook(server, one.url)
        publish(server, 1)
        awaited(lambda: one.got)
        hook(server, one.url, digest_s=1)
        publish(server, 2)
        clock.advance(2)
        awaited(lambda: len(one.got) == 2)
        server.client.post("/v1/destinations/w/test")

    for posted, kind in zip(one.got, ("delivery", "digest", "delivery"), strict=True):
        told = DOCUMENT["webhooks"][kind]["post"]
        name = told["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert list(validator(name).iter_errors(posted.document)) == []
        assert {one["name"] for one in told["parameters"]} <= set(posted.headers)
        example = told["requestBody"]["content"]["application/json"]["example"]
        assert list(validator(name).iter_errors(example)) == []
