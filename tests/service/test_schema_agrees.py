"""The OpenAPI document allows the documents that the server takes, and no others."""

from __future__ import annotations

import base64
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.service.served import Served, served
from tests.service.test_stored_values import fill
from tests.sizes import sized
from tocsin.service import openapi
from tocsin.service.app import CALLS
from tocsin.service.deliver.webhook.signing import SECRET_PATTERN, checked_secret
from tocsin.service.deliver.webhook.urls import URL_LENGTH, URL_PATTERN, parsed_url
from tocsin.service.limits import Limits
from tocsin.service.problems import Problem

DOCUMENT: Final = openapi.document(CALLS)
VALUES: Final = (
    *(None, True, False, 0, 1, -1, 2, 3, 10, 64, 65, 1000, 1001, 10**6, 10**6 + 1, 2**53 - 1, 2**53, 2**63, 10**30),
    *(0.5, 1.0, 2.5, -0.5, 0.001, 0.0005, 1e-9, 1e9, 1e300, "", "a", "a b", "é", "x" * 300, "\x00", "3", "30 s"),
    *("0 s", "0.0 ms", "\u0663 s", "1\u00a0s", "1\x1cs", f"{'9' * 301} d", f"0.{'0' * 299}1 ms", "5 min"),
    *("2026-01-31T12:00:00Z", "2026-01-31", "https://example.org", [], ["a"], ["a", "a"], [1, 2], [1.5, 1.5]),
    *([0, 0, 1, 1], [[0, 0]], [["a"]], [None], {}, {"a": 1}, {"a": -1}, {"a": "x"}),
    {"type": "Point", "coordinates": [1, 1]},
    *({"type": "Point", "coordinates": value} for value in ([1, 1, 1], [1, 1, 1, 1], [1], [1, "1"], [True, 1], None)),
    *([1, 1], [1, 1, 1], [1, 1, 1, 1], [1, True], {"type": "Point"}, {"coordinates": [1, 1]}),
    *("HTTPS://example.org", "https://", "https://1.2", "https://example.org/é", "http://example.org/#a"),
    *("whsec_", f"whsec_{'a' * 32}", f"whsec_{'a' * 32}=", f"whsec_{'a' * 33}"),
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
        "PUT", "/v1/subscriptions/{id}", "json", {"where": "a = 1"}, ("where", "language", "fence", "destination")
    ),
    "Interest": Sent(
        "PUT", "/v1/windows/{name}/subscriptions/{id}", "json", {"words": ["a"], "location": [1, 1]},
        ("destination", "text"),
    ),
    "Destination": Sent(
        "PUT", "/v1/destinations/{id}", "json", {"kind": "webhook", "url": "https://example.org/"},
        ("failures_to", "allow_private", "template"),
    ),
    "Fence": Sent("PUT", "/v1/fences/{name}", "json", {"key": "k", "time": "t"}, ("where",)),
    "Window": Sent("PUT", "/v1/windows/{name}", "json", {"size": 9, "bounds": [0, 0, 9, 9]}, ("text", "bounds")),
    "Message": Sent(
        "POST", "/v1/windows/{name}/messages", "json", {"words": ["a"], "location": [1, 1]}, ("key", "time")
    ),
    "Acknowledgement": Sent("POST", "/v1/destinations/{id}/ack", "json", {"sequence": 0}),
    "Preview": Sent(
        "POST", "/v1/destinations/{id}/preview", "json", {"template": {"body": "a"}}, ("template",)
    ),
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
    for member, value in itertools.product((*members, "unknown", "a-b"), VALUES):
        is_limited = member in ("most_objects", "size") and isinstance(value, int | float) and value > LIMITED
        if member not in sent.free and not members.get(member, {}).get("readOnly") and not is_limited:
            yield {**sent.least, member: value}


def path_of(sent: Sent) -> str:
    """The path of the call, with names of what there is, or is not."""
    id = {"DELETE": "x", "PUT": "x", "POST": "hook" if sent.path.endswith(("secret", "preview")) else "d"}[sent.method]
    window = "x" if sent.method == "PUT" and sent.path.endswith("{name}") else "w"
    return sent.path.format(id=id, name=window)


@cache
def validator_of(name: str) -> Any:
    """The validator of a document, with all that its schema refers to."""
    sent = DOCUMENTS[name]
    content = DOCUMENT["paths"][sent.path][sent.method.lower()]["requestBody"]["content"]
    schema = {**content[f"application/{sent.kind}"]["schema"], "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)


def disagreement(server: Served, name: str, document: Any) -> str | None:
    """What a server answers to a document if the schema says otherwise; None if they agree. No document is a 5xx."""
    sent = DOCUMENTS[name]
    path, headers = path_of(sent), {"Content-Type": f"application/{sent.kind}"}
    answer = server.client.request(sent.method, path, content=json.dumps(document), headers=headers)
    assert answer.status_code < 500, (document, answer.text)
    if sent.method == "PUT" and answer.is_success:
        server.client.delete(path)
    is_taken = answer.status_code not in (400, 422)
    return None if validator_of(name).is_valid(document) == is_taken else f"{answer.status_code} {answer.text}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_server_takes_what_the_schema_allows(shared: Served, name: str) -> None:
    wrong = []
    for number, document in enumerate(tried(name)):
        if name == "CloudEvent" and document.get("id") == "i":
            document["id"] = f"i{number}"  # another event
        if reason := disagreement(shared, name, document):
            wrong.append((document, reason))

    assert wrong == []


def made(name: str) -> st.SearchStrategy[Any]:
    """Documents that are made from a schema, to be allowed or not, some with odd members."""
    sent = DOCUMENTS[name]
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}
    paths = {"/": {"post": {"requestBody": body, "responses": {"200": {"description": "any"}}}}}
    call = schemathesis.openapi.from_dict({**DOCUMENT, "paths": paths})["/"]["POST"]
    both = (call.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE))
    members = DOCUMENT["components"]["schemas"][name]["properties"]
    kept = [member for member, schema in members.items() if member not in sent.free and not schema.get("readOnly")]
    odd = st.dictionaries(st.sampled_from([*kept, "unknown"]), st.sampled_from(VALUES), max_size=2)
    known = set(members) - set(kept)

    def joined(case: Any, more: dict[str, Any]) -> Any:
        if not isinstance(case.body, dict):
            return case.body
        least = sent.least if more else {member: sent.least[member] for member in sent.free if member in sent.least}
        document = {member: value for member, value in case.body.items() if member not in known}
        return {**least, **document, **more}

    return st.builds(joined, st.one_of(*both), odd).filter(is_judged)


def is_judged(document: Any) -> bool:
    """Whether a schema can judge a document: texts are Unicode, numbers finite, and no member is of the kinds below."""
    try:
        text = json.dumps(document, allow_nan=False)
    except (TypeError, ValueError):
        return False
    if "\\ud" in text or not isinstance(document, dict):
        return "\\ud" not in text
    odd = (is_over_limit, is_outside_of_the_window, leads_to_an_address, weighs_others, has_one_attribute_twice)
    return not any(judged(document) for judged in odd)


def is_over_limit(document: dict[str, Any]) -> bool:
    numbers = [document.get(member) for member in ("most_objects", "size")]
    return any(isinstance(number, int | float) and number > LIMITED for number in numbers)


def is_outside_of_the_window(document: dict[str, Any]) -> bool:
    place = document.get("location")
    pair = place.get("coordinates") if isinstance(place, dict) else place
    return isinstance(pair, list) and any(isinstance(at, int | float) and not 0 <= at <= 9 for at in pair[:2])


def leads_to_an_address(document: dict[str, Any]) -> bool:
    """Or to a port."""
    url = document.get("url")
    return isinstance(url, str) and re.match(r"(?i)https?://(\[|[\d.]+([:/?]|$)|[^/?]*:\d)", url) is not None


def weighs_others(document: dict[str, Any]) -> bool:
    """Whether weights are of attributes that the condition does not name."""
    weights = document.get("weights")
    return "where" in document and isinstance(weights, dict) and not weights.keys() <= {"a"}


def has_one_attribute_twice(document: dict[str, Any]) -> bool:
    """Whether the path of a fence is also its key or its time."""
    path = document.get("path")
    return path is not None and path in (document.get("key"), document.get("time"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_server_takes_what_is_made_from_the_schema(shared: Served, name: str) -> None:
    """Documents with several odd members at once, and with values of any form."""
    numbers = itertools.count()

    @settings(max_examples=sized(15, 300), suppress_health_check=list(HealthCheck))
    @given(made(name))
    def agree(document: Any) -> None:
        if name == "CloudEvent" and isinstance(document, dict) and document.get("id") and type(document["id"]) is str:
            document = {**document, "id": f"{document['id']}{next(numbers)}"}  # another event
        assert disagreement(shared, name, document) is None

    agree()


def test_every_document_that_is_sent_is_tried() -> None:
    """A new call adds its document here."""
    names = {name for call in CALLS for name in call.takes.values()}
    others = {"Lines", "Arrow", "CloudEvents", "Event"}  # without members of their own
    others |= {"Advance", "Test"}  # what the window has decides; each sends a request to the endpoint

    assert names - others == DOCUMENTS.keys()


def is_taken(reader: Callable[[object], object], text: str) -> bool:
    try:
        reader(text)
    except Problem:
        return False
    return True


URL_PARTS: Final = (
    *(
        "http",
        "https",
        "HTTPS",
        "://",
        ":",
        "/",
        "?",
        "#",
        "@",
        "[",
        "a",
        "b.c",
        "-",
        "_",
        ".",
        "0",
        "0x1f",
        "256",
        "01",
    ),
    *(
        "1.2.3.4",
        "01.2.3.4",
        "1.2.3",
        "%41",
        "%",
        "80",
        "é",
        "\n",
        "example.org",
        "..",
        "x" * 63,
        "x" * 64,
        "A",
        "?q=1",
    ),
)


def test_the_pattern_of_urls_is_their_syntax() -> None:
    """Except for the numbers of IPv6 addresses and of ports."""
    dice = random.Random(58)
    validator = jsonschema_rs.validator_for({"type": "string", "pattern": URL_PATTERN, "maxLength": URL_LENGTH})
    taken = 0
    for _ in range(sized(20_000, 500_000)):
        text = dice.choice(("http://", "https://", "HTTP://", "")) + "".join(
            dice.choices(URL_PARTS, k=dice.randint(0, 6))
        )
        if "[" not in text and not re.search(r":\d{5}", text):
            assert validator.is_valid(text) == is_taken(parsed_url, text), text
            taken += validator.is_valid(text)
    assert taken > 1000


def test_the_pattern_of_secrets_is_their_form() -> None:
    """A secret is the base64 of 24 to 64 bytes, with the padding that it needs."""
    validator = jsonschema_rs.validator_for({"type": "string", "pattern": SECRET_PATTERN})
    for size in range(80):
        text = "whsec_" + base64.b64encode(random.Random(size).randbytes(size)).decode()
        assert validator.is_valid(text) == is_taken(checked_secret, text) == (24 <= size <= 64)
        for other in (f"{text}=", f"{text}\n", f"{text[:-1]}*", text.replace("_", "_=")):
            assert not validator.is_valid(other) and not is_taken(checked_secret, other), other
        for other in (text[:-1], text.rstrip("=")):
            assert validator.is_valid(other) == is_taken(checked_secret, other), other
