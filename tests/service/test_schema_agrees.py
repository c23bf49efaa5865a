"""The OpenAPI document allows the documents that the server takes, and no others."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import jsonschema_rs
import pytest

from tests.service.served import Served, served
from tests.service.test_stored_values import fill
from tocsin.service import openapi
from tocsin.service.app import CALLS
from tocsin.service.limits import Limits

DOCUMENT: Final = openapi.document(CALLS)
VALUES: Final = (
    *(None, True, False, 0, 1, -1, 2, 3, 10, 64, 65, 1000, 1001, 10**6, 10**6 + 1, 2**53 - 1, 2**53, 2**63, 10**30),
    *(0.5, 1.0, 2.5, -0.5, 0.001, 0.0005, 1e-9, 1e9, 1e300, "", "a", "a b", "é", "x" * 300, "\x00", "3", "30 s"),
    *("5 min", "2026-01-31T12:00:00Z", "2026-01-31", "https://example.org", [], ["a"], ["a", "a"], [1, 2], [1.5, 1.5]),
    *([0, 0, 1, 1], [[0, 0]], [["a"]], [None], {}, {"a": 1}, {"a": -1}, {"a": "x"}),
    {"type": "Point", "coordinates": [1, 1]},
)
LIMITED: Final = 10**6
"""The most objects of a fence and messages of a window, which a server may change."""


class Sent(NamedTuple):
    """A call that takes a document: its least document, and members that are judged by more than a schema.

    These are conditions, names of what must be there, and what depends on the state of a window.
    """

    method: str
    path: str
    kind: str
    least: dict[str, Any]
    free: tuple[str, ...] = ()


DOCUMENTS: Final = {
    "Subscription": Sent(
        "PUT", "/v1/subscriptions/{id}", "json", {"where": "a = 1"}, ("where", "fence", "destination")
    ),
    "Interest": Sent(
        "PUT", "/v1/windows/{name}/subscriptions/{id}", "json", {"words": ["a"], "location": [1, 1]}, ("destination",)
    ),
    "Destination": Sent(
        "PUT", "/v1/destinations/{id}", "json", {"kind": "webhook", "url": "https://example.org/"},
        ("failures_to", "allow_private"),
    ),
    "Fence": Sent("PUT", "/v1/fences/{name}", "json", {"key": "k"}, ("where",)),
    "Window": Sent("PUT", "/v1/windows/{name}", "json", {"size": 9, "bounds": [0, 0, 9, 9]}, ("text", "bounds")),
    "Message": Sent(
        "POST", "/v1/windows/{name}/messages", "json", {"words": ["a"], "location": [1, 1]}, ("key", "time")
    ),
    "Acknowledgement": Sent("POST", "/v1/destinations/{id}/ack", "json", {"sequence": 0}),
    "Replay": Sent("POST", "/v1/destinations/{id}/replay", "json", {"from": 1}),
    "Rotation": Sent("POST", "/v1/destinations/{id}/rotate-secret", "json", {}),
    "Condition": Sent("POST", "/v1/check", "json", {"where": "a = 1"}, ("language",)),
    "DryRun": Sent("POST", "/v1/dry-run", "json", {"where": "a = 1"}, ("where", "language")),
    "Explain": Sent("POST", "/v1/explain", "json", {"where": "a = 1", "event": {}}, ("where", "language")),
    "CloudEvent": Sent(
        "POST", "/v1/events", "cloudevents+json",
        {"specversion": "1.0", "id": "i", "source": "s", "type": "t", "data": {}},
    ),
    "Login": Sent("POST", "/v1/session", "json", {"token": "x"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without a limit of costs, which no schema can tell."""
    with served(tmp_path_factory.mktemp("alerts"), Limits(subscription_cost=math.inf)) as server:
        fill(server)
        hook = {"kind": "webhook", "url": "https://example.org/"}
        server.client.put("/v1/destinations/hook", json=hook).raise_for_status()
        yield server


def tried(name: str) -> Iterator[dict[str, Any]]:
    """Documents with one odd member, or without one."""
    sent = DOCUMENTS[name]
    members = DOCUMENT["components"]["schemas"][name]["properties"]
    for member in sent.least:
        yield {other: value for other, value in sent.least.items() if other != member}
    for member, value in itertools.product((*members, "unknown"), VALUES):
        is_limited = member in ("most_objects", "size") and isinstance(value, int | float) and value > LIMITED
        if member not in sent.free and not members.get(member, {}).get("readOnly") and not is_limited:
            yield {**sent.least, member: value}


def path_of(sent: Sent) -> str:
    """The path of the call, with names of what there is, or is not."""
    id = {"DELETE": "x", "PUT": "x", "POST": "hook" if "rotate" in sent.path else "d"}[sent.method]
    window = "x" if sent.method == "PUT" and sent.path.endswith("{name}") else "w"
    return sent.path.format(id=id, name=window)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_server_takes_what_the_schema_allows(shared: Served, name: str) -> None:
    sent, path = DOCUMENTS[name], path_of(DOCUMENTS[name])
    content = DOCUMENT["paths"][sent.path][sent.method.lower()]["requestBody"]["content"]
    schema = {**content[f"application/{sent.kind}"]["schema"], "components": DOCUMENT["components"]}
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    wrong = []
    for number, document in enumerate(tried(name)):
        if name == "CloudEvent" and document.get("id") == "i":
            document["id"] = f"i{number}"  # another event
        headers = {"Content-Type": f"application/{sent.kind}"}
        answer = shared.client.request(sent.method, path, content=json.dumps(document), headers=headers)
        assert answer.status_code < 500, (document, answer.text)
        if validator.is_valid(document) != (answer.status_code not in (400, 422)):
            wrong.append((document, answer.status_code, answer.text))
        if sent.method == "PUT" and answer.is_success:
            shared.client.delete(path)

    assert wrong == []


def test_every_document_that_is_sent_is_tried() -> None:
    """A new call adds its document here."""
    names = {name for call in CALLS for name in call.takes.values()}
    others = {"Lines", "Arrow", "CloudEvents", "Event"}  # without members of their own
    others |= {"Advance", "Test"}  # what the window has decides; each sends a request to the endpoint

    assert names - others == DOCUMENTS.keys()
