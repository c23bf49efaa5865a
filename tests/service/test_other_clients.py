"""Clients that are not tocsin's: the SDK of CloudEvents, and curl on a stream."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from tests.service.served import Served

MODES: Final = {
    "structured": lambda event: http.to_structured(event, JSONFormat()),
    "binary": lambda event: http.to_binary(event, JSONFormat()),
}
CURL: Final = shutil.which("curl")


def offer(id: str = "1", price: float = 5, **more: Any) -> CloudEvent:
    attributes: dict[str, Any] = {
        "id": id, "source": "/shop/ü", "type": "offer", "time": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "subject": "50 % off", "datacontenttype": "application/json", **more,
    }  # fmt: skip
    return CloudEvent(attributes, {"price": price, "names": ["ü", "😀"]})


@pytest.mark.parametrize("mode", MODES)
def test_messages_of_the_sdk_are_published_once(server: Served, mode: str) -> None:
    """By source and id, in both modes; the attributes of data and context are those of the event."""
    server.destination()
    server.subscribe("s", "cloudevent.type = 'offer' AND price < 10", destination="d")
    sent = [MODES[mode](one) for one in (offer(), offer(), offer("2"), offer("2", source="/other"), offer("3", 20))]
    answers = [server.client.post("/v1/events", content=one.body, headers=one.headers) for one in sent]
    other = MODES[mode](offer("1", price=6))
    refused = server.client.post("/v1/events", content=other.body, headers=other.headers)

    assert [one.status_code for one in answers] == [202] * 5, answers[0].text
    assert [one.json()["sequence"] for one in answers] == [1, 1, 2, 3, 4]
    assert [one.headers.get("idempotent-replayed") for one in answers] == [None, "true", None, None, None]
    assert (refused.status_code, refused.json()["field"]) == (422, "Idempotency-Key")
    first = server.pulled()[0]["event"]
    assert (first["price"], first["names"]) == (5, ["ü", "😀"])
    context = first["cloudevent"]
    assert (context["id"], context["source"], context["subject"]) == ("1", "/shop/ü", "50 % off")
    assert datetime.fromisoformat(context["time"]) == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_one_mode_repeats_the_other(server: Served) -> None:
    """The same event is the same in both modes."""
    sent = [message(offer()) for message in MODES.values()]
    answers = [server.client.post("/v1/events", content=one.body, headers=one.headers) for one in sent]

    assert [(one.status_code, one.json()["sequence"]) for one in answers] == [(202, 1), (202, 1)], answers[1].text


def curled(server: Served, path: str, headers: Mapping[str, str], is_enough: Callable[[str], bool]) -> str:
    """What curl prints of a stream, until that is enough."""
    assert CURL is not None
    command = [CURL, "--no-buffer", "--silent", "--show-error", "--max-time", "20", "--noproxy", "*"]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    address = str(server.client.base_url).rstrip("/")
    process = subprocess.Popen([*command, f"{address}{path}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    text = ""
    try:
        while not is_enough(text):
            line = process.stdout.readline()
            assert line, f"curl ended after {text!r}"
            text += line
    finally:
        process.kill()
        process.communicate()
    return text


def messages(text: str) -> list[tuple[str, int]]:
    """The id and the number of each message of a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields and "event" not in fields:
            found.append((fields["id"], json.loads(fields["data"])["event"]["n"]))
    return found


@pytest.mark.skipif(CURL is None, reason="curl is not installed")
@pytest.mark.parametrize("path", ["/v1/destinations/d/stream", "/v1/stream?destinations=d"])
def test_curl_goes_on_after_the_last_event_id(server: Served, path: str) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    server.lines([{"n": number} for number in range(5)])
    joint = "&" if "?" in path else "?"
    first = messages(curled(server, f"{path}{joint}from=earliest", {}, lambda text: len(messages(text)) == 3))
    server.publish({"n": 5})
    rest = messages(curled(server, path, {"Last-Event-ID": first[-1][0]}, lambda text: len(messages(text)) == 3))

    assert [number for _, number in first] == [0, 1, 2]
    assert [number for _, number in rest] == [3, 4, 5]
    assert len({id for id, _ in (*first, *rest)}) == 6
