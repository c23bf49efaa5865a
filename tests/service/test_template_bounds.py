"""Templates that strangers write: what they may reach, and how much they may use."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tocsin.service.deliver.protocols import DELIVERY, Message
from tocsin.service.deliver.templates.renderer import Renderer, TemplateError

SECRET = "a-secret-of-the-server"
DELIVERED = {
    "sequence": 1, "key": "k-1", "destination": "w", "published": "2026-01-31T12:00:00.000Z",
    "event": {"price": 550, "model": 'a "phone"', "tags": ["x", "y"]},
    "subscriptions": [{"id": "s", "score": 1.0, "payload": {"to": "me"}, "named": {"cheap": [1]}, "change": "enter"}],
}  # fmt: skip
DOUBLED = "{% assign a = 'xxxxxxxxxxxxxxxx' %}" + "{% assign a = a | append: a %}" * 60
MULTIPLIED = "{% assign a = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' %}{{ a" + " | replace: 'x', a" * 30 + " }}"


def rendered(text: str, delivery: Any = DELIVERED) -> str:
    """A text as the service renders it, in a process of its own."""
    body = json.dumps({"type": DELIVERY, "timestamp": delivery["published"], "data": delivery}).encode()
    message = Message("k-1", DELIVERY, 0, body, "w")

    async def run() -> str:
        return str((await RENDERER.rendered({"body": text}, message))["body"])

    return asyncio.run(run())


RENDERER = Renderer()


@pytest.fixture(scope="module", autouse=True)
def closed() -> Any:
    yield
    RENDERER.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ event.model | json }} for {{ event.price }}", '"a \\"phone\\"" for 550'),
        ("{% for one in subscriptions %}{{ one.id }} {{ one.payload.to }} {{ one.change }}{% endfor %}", "s me enter"),
        ("{{ subscriptions[0].named | json }}", '{"cheap": [1]}'),
        ("{{ type }} {{ sequence }} {{ key }} {{ destination }}", "delivery 1 k-1 w"),
        ("{{ published | date: '%H:%M' }} {{ deliveries.size }} {{ deliveries[0].event.price }}", "12:00 1 550"),
        ("[{{ event.missing }}] {{ event.missing | json }}", "[] null"),
        ("{{ event.tags | join: ', ' }} {{ event.price | times: 2 }}", "x, y 1100"),
    ],
)
def test_variables_are_the_document_of_the_delivery(text: str, expected: str) -> None:
    assert rendered(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ event.__class__ }}{{ event.__class__.__mro__ }}{{ event.items }}{{ event['__init__'] }}",
        "{{ key.__class__ }}{{ key.format }}{{ self }}{{ environment }}{{ context }}{{ globals }}{{ os.environ }}",
        "{{ 'TOCSIN_SERVE_SECRETS_KEY' | getenv }}",
        "{% include '/etc/passwd' %}",
        "{% render '/etc/passwd' %}",
        "{% extends '/etc/passwd' %}",
        "{% python %}1{% endpython %}",
    ],
)
def test_nothing_but_the_variables_can_be_reached(text: str) -> None:
    """Attributes of Python are not there, and neither are files, other templates and the environment."""
    try:
        output = rendered(text)
    except TemplateError as error:
        output, is_known = "", ("unexpected tag" in str(error) or "no filter" in str(error))
        assert is_known, error

    assert output == ""


def test_the_process_has_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SERVE_SECRETS_KEY", SECRET)
    RENDERER.close()
    assert rendered("x") == "x"
    process = RENDERER._process
    assert process is not None
    entry = Path(f"/proc/{process.pid}/environ")
    if entry.exists():
        assert SECRET.encode() not in entry.read_bytes()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{% for i in (1..1000000000) %}x{% endfor %}", "loop iteration limit"),
        ("{% for i in (1..90000) %}{% for j in (1..90000) %}{% endfor %}{% endfor %}", "loop iteration limit"),
        ("{% tablerow i in (1..10000000000) %}x{% endtablerow %}", "loop iteration limit"),
        ("{% for i in (1..99999) %}" + "x" * 30 + "{% endfor %}", "output stream limit"),
        (DOUBLED, "local namespace limit"),
        (MULTIPLIED, "too much memory"),
        ("{{ (1..100000000000) | reverse | size }}", "too much memory"),
        ("{% if a %}" * 1500 + "{% endif %}" * 1500, "nesting limit"),
        ("{{ a" + "[a" * 7000 + " }}", "parsing error"),
        ("{{ 1 | divided_by: 0 }}", "divide by 0"),
    ],
)
def test_what_is_too_much_is_an_error(text: str, reason: str) -> None:
    """Loops, output, variables, memory and nesting have bounds; the process goes on."""
    with pytest.raises(TemplateError, match=reason) as raised:
        rendered(text)

    assert not raised.value.is_late
    assert rendered("{{ event.price }}") == "550"


@pytest.mark.parametrize(
    "text", ["{{ (1..100000000000) | sum }}", "{% assign a = 99999999 %}" + "{% assign a = a | times: a %}" * 60]
)
def test_what_takes_too_long_ends_the_process_and_the_next_has_another(text: str) -> None:
    """Also where one call of Python, which nothing can interrupt, takes the time."""
    with pytest.raises(TemplateError, match="longer than a second") as raised:
        rendered(text)

    assert raised.value.is_late
    assert rendered("{{ event.price }}") == "550"


def test_all_parts_together_have_a_bound() -> None:
    message = Message("k", DELIVERY, 0, json.dumps({"type": DELIVERY, "data": DELIVERED}).encode(), "w")
    half = "{% for i in (1..60000) %}xxxxxxxxxx{% endfor %}"
    with pytest.raises(TemplateError, match="more than 1,048,576 bytes"):
        asyncio.run(RENDERER.rendered({"body": half, "headers": {"a": half}}, message))


def test_a_digest_has_its_deliveries() -> None:
    body = json.dumps({"type": "digest", "timestamp": "t", "data": {"deliveries": [DELIVERED, DELIVERED]}}).encode()
    message = Message("k-1-2-2", "digest", 0, body, "w")
    text = "{{ type }} {{ key }} {% for one in deliveries %}{{ one.event.price }},{% endfor %}[{{ event.price }}]"

    parts = asyncio.run(RENDERER.rendered({"body": text}, message))

    assert parts == {"body": "digest k-1-2-2 550,550,[]"}
