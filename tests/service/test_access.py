"""Every route, every scope, and a foreign tenant: the tables come from the calls, so that none is forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from tests.service.served import Served, served
from tocsin.service.access.tokens import SCOPES
from tocsin.service.api import Call
from tocsin.service.app import CALLS

BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/events"): {"n": 1},
    ("POST", "/v1/match"): {"n": 1},
    ("POST", "/v1/subscriptions"): {"id": "ID", "where": "n = 1"},
    ("PUT", "/v1/subscriptions/{id}"): {"where": "n >= 0"},
    ("PATCH", "/v1/subscriptions/{id}"): {"score": 2},
    ("PUT", "/v1/destinations/{id}"): {"kind": "stream"},
    ("PATCH", "/v1/destinations/{id}"): {},
    ("POST", "/v1/destinations/{id}/ack"): {"sequence": 1},
    ("POST", "/v1/check"): {"where": "n = 1"},
    ("POST", "/v1/explain"): {"where": "n = 1", "event": {"n": 1}},
    ("POST", "/v1/dry-run"): {"where": "n >= 0"},
    ("POST", "/v1/destinations/{id}/preview"): {},
    ("POST", "/v1/destinations/{id}/replay"): {"from": 1},
    ("POST", "/v1/destinations/{id}/rotate-secret"): {},
    ("POST", "/v1/destinations/{id}/test"): {},
    ("PUT", "/v1/fences/{name}"): {"key": "v"},
    ("PUT", "/v1/windows/{name}"): {"time": 60, "bounds": [0, 0, 9, 9]},
    ("PUT", "/v1/windows/{name}/subscriptions/{id}"): {"words": ["a"], "location": [1, 1]},
    ("POST", "/v1/windows/{name}/subscriptions"): {"id": "ID", "words": ["a"], "location": [1, 1]},
    ("POST", "/v1/windows/{name}/messages"): {"words": ["a"], "location": [1, 1], "time": 1},
    ("POST", "/v1/windows/{name}/advance"): {"time": 1},
    ("POST", "/v1/session"): {"token": "none"},
}
"""A good body of each call that takes one."""
OPTIONS = {
    ("GET", "/v1/stream"): {"destinations": "ID"},
    ("GET", "/v1/destinations/{id}/deliveries/{sequence}/subscriptions"): {"part": "0"},
    ("DELETE", "/v1/subscriptions"): {"id": "ID"},
}
OPEN = {("GET", one): 200 for one in ("/healthz", "/readyz", "/openapi.json", "/docs")} | {
    ("POST", "/v1/session"): 401,  # the token in its body is not one
    ("DELETE", "/v1/session"): 204,
}
"""Calls that need no token, and their answers without one."""
SECRET = "rosebud"
EACH = pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.method} {call.path}")
CLOSED = pytest.mark.parametrize(
    "call",
    [call for call in CALLS if (call.method, call.path) not in OPEN],
    ids=lambda call: f"{call.method} {call.path}",
)


class Clients(NamedTuple):
    server: Served
    owner: httpx.Client
    foreign: httpx.Client
    scoped: dict[str, httpx.Client]
    changes: list[str]  # what the tenant's clients changed since it was filled


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        scoped = {scope: server.client_of(server.token(scope, tenant="acme")) for scope in SCOPES}
        owner, foreign = (server.client_of(server.token(tenant=name)) for name in ("acme", "other"))
        changes = ["it is empty"]

        def note(answer: httpx.Response) -> None:
            if answer.request.method != "GET" and answer.status_code not in (401, 403):
                changes.append(f"{answer.request.method} {answer.url}")

        for client in (server.client, owner, foreign, *scoped.values()):
            client.event_hooks = {"response": [note]}
            client.headers["X-Request-Id"] = "test"  # of which answers have a copy
        yield Clients(server, owner, foreign, scoped, changes)


@pytest.fixture
def filled(clients: Clients) -> Clients:
    """The tenant `acme` has a destination, a subscription and a window, all named `mine`, and deliveries."""
    owner = clients.owner
    if not clients.changes:  # most calls are refused, and change nothing
        return clients
    assert owner.put("/v1/destinations/mine", json={"kind": "stream"}).is_success
    record = {"where": "n >= 0", "payload": SECRET, "destination": "mine"}
    assert owner.put("/v1/subscriptions/mine", json=record).is_success
    assert owner.post("/v1/events", json={"n": 1, "what": SECRET}).is_success
    assert owner.put("/v1/fences/mine", json={"key": "v", "where": f"v <> '{SECRET}'"}).status_code in (200, 201, 409)
    window = BODIES["PUT", "/v1/windows/{name}"]
    assert owner.put("/v1/windows/mine", json={**window, "weights": {SECRET: 2}}).is_success
    interest = {"words": [SECRET], "location": [1, 1], "payload": SECRET, "destination": "mine"}
    assert owner.put("/v1/windows/mine/subscriptions/mine", json=interest).is_success
    clients.changes.clear()
    return clients


def asked(client: httpx.Client, call: Call, id: str = "mine") -> httpx.Response:
    """The answer to a good request; of a stream that is let in, only its beginning."""
    path = call.path.replace("{id}", id).replace("{name}", id).replace("{sequence}", "1")
    body = BODIES.get((call.method, call.path))
    more: dict[str, Any] = {
        "params": {name: value.replace("ID", id) for name, value in OPTIONS.get((call.method, call.path), {}).items()}
    }
    if body is not None:
        kind = "application/json" if "application/json" in call.takes else next(iter(call.takes))
        more |= {"content": json.dumps(body).replace("ID", id), "headers": {"Content-Type": kind}}
    with client.stream(call.method, path, **more) as response:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.read()
        return response


def test_every_call_that_takes_a_body_has_one_here() -> None:
    assert set(BODIES) == {(call.method, call.path) for call in CALLS if call.takes}
    assert {(call.method, call.path) for call in CALLS if not call.scopes} == set(OPEN)
    assert all(set(call.scopes) <= set(SCOPES) for call in CALLS)


@EACH
def test_without_a_token_only_open_calls_answer(filled: Clients, call: Call) -> None:
    answer = asked(filled.server.client, call)

    assert answer.status_code == OPEN.get((call.method, call.path), 401)
    if (call.method, call.path) not in OPEN:
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.content == asked(filled.server.client, call, "none").content


@CLOSED
@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_allows_its_calls_and_no_other(filled: Clients, call: Call, scope: str) -> None:
    answer = asked(filled.scoped[scope], call)

    if scope in call.scopes:
        assert answer.is_success or answer.status_code == 409, answer.text
        if call.method == "DELETE":
            return
        assert scope != "operate" or SECRET not in answer.text  # neither events nor payloads
    else:
        assert answer.status_code == 403
        assert answer.headers["www-authenticate"].endswith(f'error="insufficient_scope", scope="{call.scope}"')
        assert answer.content == asked(filled.scoped[scope], call, "none").content


@CLOSED
def test_a_foreign_tenant_finds_nothing(filled: Clients, call: Call) -> None:
    """It gets the same answer for what another tenant has as for what nobody has."""
    with served_alike(filled.foreign):
        theirs = asked(filled.foreign, call)
    with served_alike(filled.foreign):
        nobodys = asked(filled.foreign, call, "none")

    assert theirs.status_code == nobodys.status_code
    if ("{id}" in call.path or "{name}" in call.path) and (call.method != "PUT" or call.path.count("{") > 1):
        assert theirs.status_code == 404 or call.path.endswith("/diagnosis")
    if call.path == "/v1/audit":  # its own changes, which this test makes
        assert {one["token"] for one in theirs.json()["records"]} <= {id_of(filled.foreign)}
    elif call.path.endswith("/diagnosis"):  # who of this tenant deleted it, as this test does
        assert theirs.json()["changed"]["token"] == id_of(filled.foreign) and SECRET not in theirs.text
    elif not theirs.headers.get("content-type", "").startswith("text/"):
        assert without(theirs.text, "mine") == without(nobodys.text, "none")
        assert SECRET not in theirs.text
    kept = filled.owner.get("/v1/subscriptions/mine").json()
    assert (kept["payload"], kept["destination"]) == (SECRET, "mine")


class served_alike:  # noqa: N801
    """Removes what a client's tenant has, before and after."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def __enter__(self) -> None:
        for name in ("mine", "none"):
            self._client.delete(f"/v1/subscriptions/{name}")
            self._client.delete(f"/v1/destinations/{name}")
            self._client.delete(f"/v1/windows/{name}")
            self._client.delete(f"/v1/fences/{name}")

    def __exit__(self, *_: object) -> None:
        self.__enter__()


def id_of(client: httpx.Client) -> str:
    """The id of a client's token."""
    return client.headers["Authorization"].split("_")[1]


def without(text: str, name: str) -> str:
    """A body without the name that was asked for, and without numbers, which grow."""
    return "".join(c for c in text.replace(name, "NAME") if not c.isdigit())


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nothing", "/v1/subscriptions/a/b", "/V1/EVENTS", "/admin"])
def test_unknown_paths_and_methods_tell_strangers_nothing(clients: Clients, method: str, path: str) -> None:
    assert clients.server.client.request(method, path).status_code == 401
    assert clients.owner.request(method, path).status_code == 404


def test_wrong_methods_tell_strangers_nothing(clients: Clients) -> None:
    for path in {call.path for call in CALLS if call.scopes}:
        assert clients.server.client.request("PROPFIND", path).status_code == 401
        assert clients.owner.request("PROPFIND", path).status_code == 405


def test_a_stranger_does_not_hear_how_many_changes_there_were(clients: Clients) -> None:
    ready = clients.server.client.get("/readyz").json()
    ready.pop("check", None)  # there is one a few seconds after the start
    assert ready == {"status": "ready"}


def test_the_document_says_which_calls_need_a_token(clients: Clients) -> None:
    paths = clients.server.client.get("/openapi.json").json()["paths"]
    for call in CALLS:
        operation = paths[call.path][call.method.lower()]
        is_open = (call.method, call.path) in OPEN
        assert ("security" in operation) == (not is_open)
        assert ({"401", "403"} <= set(operation["responses"])) == (not is_open)
