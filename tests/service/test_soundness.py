"""What a database or a reader of JSON lacks is refused at the door, with its place, and fails nobody else."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, PATH
from tocsin.service import bodies
from tocsin.service.problems import Problem, printable
from tocsin.service.soundness import MOST_DEPTH, fault_of, may_be_unsound, may_have_unsound

LINES: Final = {"Content-Type": "application/x-ndjson"}
JSON: Final = {"Content-Type": "application/json"}
UNSOUND: Final = {
    "a lone surrogate": '"\\ud800"',
    "a low surrogate": '"x\\uDFFF"',
    "halves in the wrong order": '"\\udc00\\ud800"',
    "a surrogate in a name": '{"\\ud800": 1}',
    "a half behind a backslash": '"\\\\ud83d\\ude00"',
    "5,000 digits": "9" * 5000,
    "400 digits": "-" + "9" * 400,
    "an exponent": "1e999",
    "digits and an exponent": "-" + "1" * 250 + ".5E+99",
    "64 levels": "[" * MOST_DEPTH + "]" * MOST_DEPTH,
    "5,000 levels": "[" * 5000 + "]" * 5000,
}
SOUND: Final = {
    "an emoji": '"\\ud83d\\ude00"',
    "a backslash": '"\\\\ud800"',
    "300 digits": "9" * 300,
    "a small exponent": "1e-999",
    "a large exponent": "1e308",
    "zeros": "0." + "0" * 1000 + "1",
    "an id with an e": '"12e3456"',
    "digits in a text": '"' + "9" * 5000 + '"',
    "brackets in a text": '"' + "[" * 5000 + '"',
    "63 levels": "[" * (MOST_DEPTH - 1) + "]" * (MOST_DEPTH - 1),
    "a control character": '"\\u0000"',
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose events meet a subscription, a fence and a throttle, and which has a window."""
    with served(tmp_path_factory.mktemp("alerts")) as server:
        server.destination()
        server.client.put("/v1/fences/f", json={"key": "v"}).raise_for_status()
        server.subscribe("s", "n = 1", destination="d")
        server.subscribe("fenced", "n = 1", destination="d", fence="f")
        server.client.put(PATH, json={"size": 1000, "bounds": BOUNDS}).raise_for_status()
        interest = {"words": ["a"], "location": [1, 1], "destination": "d"}
        server.client.put(f"{PATH}/subscriptions/u", json=interest).raise_for_status()
        yield server


@pytest.mark.parametrize("what", UNSOUND)
def test_an_event_that_cannot_be_stored_is_refused_with_its_place(shared: Served, what: str) -> None:
    event = f'{{"n": 1, "v": {UNSOUND[what]}}}'
    for path, body in (("/v1/events", event), (f"{PATH}/messages", message(UNSOUND[what]))):
        answer = shared.client.post(path, content=body, headers=JSON)

        assert answer.status_code in (400, 422), (path, answer.text)
        assert answer.json().get("field", "v").startswith(("v", "key")), answer.text


def message(key: str) -> str:
    return f'{{"words": ["a"], "location": [1, 1], "key": {key}}}'


@pytest.mark.parametrize("what", UNSOUND)
def test_a_line_that_cannot_be_stored_costs_itself_alone(shared: Served, what: str) -> None:
    lines = [f'{{"n": 1, "v": {value}}}' for value in ('"x"', UNSOUND[what], '"y"')]
    for path, body in (("/v1/events?key=v", lines), (f"{PATH}/messages", list(map(message, ('"x"', UNSOUND[what]))))):
        report = shared.client.post(path, content="\n".join(body), headers=LINES).json()

        assert (report["accepted"], [one["row"] for one in report["errors"]]) == (len(body) - 1, [1]), report
        assert "line 2" in report["errors"][0]["reason"]
    for delivery in shared.pulled(limit=1000):
        assert json.dumps(delivery, allow_nan=False).encode()


@pytest.mark.parametrize("what", SOUND)
def test_what_is_only_odd_is_published(shared: Served, what: str) -> None:
    event = f'{{"n": 1, "o": {SOUND[what]}}}'
    assert shared.client.post("/v1/events", content=event, headers=JSON).status_code == 202
    assert shared.client.post("/v1/events", content=f"{event}\n{event}", headers=LINES).json()["accepted"] == 2
    newest = shared.client.get("/v1/destinations/d").json()["newest"]
    for delivery in shared.pulled(after=newest - 3):
        assert delivery["event"] == json.loads(event)


@pytest.mark.parametrize("what", UNSOUND)
def test_a_subscription_that_cannot_be_stored_is_refused_with_its_place(shared: Served, what: str) -> None:
    value = UNSOUND[what]
    kinds = {
        "/v1/subscriptions": '"where": "n = 2"',
        f"{PATH}/subscriptions": '"words": ["a"], "location": [1, 1]',
    }
    for path, members in kinds.items():
        for field in ("payload", "id", "destination"):
            record = f'{{{members}, "{field}": {value}}}'
            answer = shared.client.put(f"{path}/x", content=record, headers=JSON)
            assert answer.status_code in (400, 422), (path, field, answer.text)
            assert answer.json().get("field", field).startswith(field), answer.text
            good = f'{{{members}, "id": "good"}}'
            bad = record if field == "id" else f'{{"id": "bad", {record[1:]}'
            report = shared.client.post(path, content=f"{good}\n{bad}", headers=LINES).json()
            assert (report["accepted"], [one["row"] for one in report["errors"]]) == (1, [1]), report
        assert shared.client.get(path, params={"limit": 1000}).status_code == 200


@pytest.mark.parametrize("what", UNSOUND)
def test_options_that_cannot_be_stored_are_refused(shared: Served, what: str) -> None:
    value = UNSOUND[what]
    for path, body in {
        "/v1/destinations/x": f'{{"kind": "webhook", "url": {value}}}',
        "/v1/destinations/y": f'{{"kind": "webhook", "url": "https://example.org", "failures_to": {value}}}',
        "/v1/fences/x": f'{{"key": {value}}}',
        "/v1/fences/y": f'{{"key": "k", "dwell": {value}}}',
        "/v1/windows/x": f'{{"size": {value}, "bounds": [0, 0, 1, 1]}}',
        "/v1/windows/y": f'{{"size": 9, "bounds": [0, 0, 1, 1], "weights": {{"a": {value}}}}}',
    }.items():
        answer = shared.client.put(path, content=body, headers=JSON)
        assert answer.status_code in (400, 422), (path, answer.text)
    for path in ("/v1/destinations", "/v1/fences", "/v1/windows"):
        assert shared.client.get(path).status_code == 200


CONTEXT: Final = '"specversion": "1.0", "source": "s", "type": "t"'


@pytest.mark.parametrize("what", UNSOUND)
def test_a_cloudevent_that_cannot_be_stored_is_refused(shared: Served, what: str) -> None:
    value = UNSOUND[what]
    for event in (
        f'{{{CONTEXT}, "id": "i", "data": {{"n": 1, "v": {value}}}}}',
        f'{{{CONTEXT}, "id": {value}, "data": {{}}}}',
        f'{{{CONTEXT}, "id": "i", "other": {value}, "data": {{}}}}',
    ):
        for kind, body in (("cloudevents", event), ("cloudevents-batch", f"[{event}]")):
            headers = {"Content-Type": f"application/{kind}+json"}
            assert shared.client.post("/v1/events", content=body, headers=headers).status_code in (400, 422)


@pytest.mark.parametrize("raw", ["%ED%A0%80", "%ff", "%00", "%EF%BF%BE%80"])
def test_paths_queries_and_headers_that_are_not_texts_are_refused(shared: Served, raw: str) -> None:
    for method, path in (
        ("PUT", f"/v1/subscriptions/{raw}"),
        ("PUT", f"/v1/windows/w/subscriptions/{raw}"),
        ("PUT", f"/v1/fences/{raw}"),
        ("PUT", f"/v1/windows/{raw}"),
        ("PUT", f"/v1/destinations/{raw}"),
        ("GET", f"/v1/subscriptions?after={raw}"),
        ("GET", f"/v1/subscriptions?search={raw}"),
        ("GET", f"/v1/windows/w/subscriptions?after={raw}"),
        ("GET", f"/v1/stream?destinations={raw}"),
        ("POST", f"/v1/events?key={raw}"),
    ):
        answer = shared.client.request(method, path, content=b"{}", headers=JSON)
        assert answer.status_code in (400, 404, 422), (method, path, answer.text)
    for name in ("Idempotency-Key", "If-Match", "Last-Event-ID", "ce-id"):
        context = {"ce-specversion": "1.0", "ce-source": "s", "ce-type": "t", "ce-id": "i"}
        headers = {**context, **JSON, name.lower(): b"\x80\xed\xa0\x80"}
        assert shared.client.post("/v1/events", content=b"{}", headers=headers).status_code < 500
        assert shared.client.get("/v1/stream?destinations=x", headers={name: b"\xed\xa0\x80"}).status_code < 500


_NUMBERS = st.one_of(
    st.integers(-(10**310), 10**310).map(str),
    st.sampled_from(
        ("1e308", "1e309", "1E+400", "-1e0999", "1e-400", "12e34", "0e999", "9" * 199 + "e99", "9" * 250 + "e99")
    ),
)
_STRINGS = st.one_of(
    st.text(st.characters(codec=None), max_size=6).map(json.dumps),
    st.sampled_from(('"1e999 "', '"\\\\ud800"', '"\\\\\\ud800"', '"\\ud83d\\ude00"', '"[[["', '"\\uD800\\\\uDC00"')),
)  # fmt: skip
_VALUES = st.recursive(
    _NUMBERS | _STRINGS | st.sampled_from(("null", "true")),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
        | st.tuples(_STRINGS, inner).map(lambda pair: f"{{{pair[0]}:{pair[1]}}}")
    ),
    max_leaves=6,
)


def is_sound(value: Any) -> bool:
    """Whether every reader of JSON reads a value."""
    if isinstance(value, dict):
        return all(map(is_sound, value)) and all(map(is_sound, value.values()))
    if isinstance(value, list):
        return all(map(is_sound, value))
    if isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return not isinstance(value, int | float) or abs(value) <= sys.float_info.max


@given(st.lists(_VALUES, min_size=1, max_size=5))
def test_the_look_at_the_bytes_misses_nothing(texts: list[str]) -> None:
    """Single documents and lines are refused exactly if they have something that is not sound."""
    events = [f'{{"v":{text}}}' for text in texts]
    lines = [event.encode() for event in events]
    expected = [is_sound(json.loads(event)) for event in events]

    for line, event, sound in zip(lines, events, expected, strict=True):
        assert sound == (fault_of(json.loads(event)) is None)
        assert sound or may_be_unsound(line)
    body = bodies.Lines(b"\n".join(lines))
    chunk = body.chunk(0, len(lines))
    assert all(expected) or may_have_unsound(chunk.text, chunk.starts, chunk.stops)
    refused = getattr(body.sound_chunk(0, len(lines)), "rejects", [])
    assert [one.row for one in refused] == [row for row, sound in enumerate(expected) if not sound]


def test_the_depth_of_each_line_counts() -> None:
    """Many lines with brackets are not looked at one by one; a deep one is found among them."""
    shallow, deep = b'{"a":[[[[]]]]}', b'{"a":' + b"[" * 70 + b"]" * 70 + b"}"
    for lines, expected in (([shallow] * 100, False), ([*[shallow] * 100, deep], True)):
        stops = np.cumsum([len(line) + 1 for line in lines]) - 1
        starts = np.append(0, stops[:-1] + 1)
        assert may_have_unsound(b"\n".join(lines), starts, stops) == expected


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_message_has_what_a_terminal_obeys(text: str) -> None:
    for shown in (printable(text), Problem(400, "x", text, field=text).document()["detail"]):
        assert all(letter == "\n" or letter not in "\x1b\r\x07\x00\u2028\u202e\ud800" for letter in shown)
        shown.encode()
    assert len(printable(text * 3000)) <= 2000


def test_no_answer_echoes_control_characters(shared: Served) -> None:
    """Whatever is refused is shown with escapes: names, conditions, keys of objects, options."""
    odd = "\x1b[2J\u202e\u2028"
    doubled = f'{{"{odd}": 1, "{odd}": 2}}'.encode()
    answers = [
        shared.client.put("/v1/subscriptions/x", json={"where": f"a = '{odd}' AND"}),
        shared.client.put("/v1/subscriptions/x", json={"where": "a = 1", odd: 1}),
        shared.client.put("/v1/subscriptions/x", json={"where": "a = 1", "destination": odd}),
        shared.client.put("/v1/subscriptions/x", json={"where": "a = 1", "weights": {odd: 1}}),
        shared.client.put("/v1/fences/x", json={"key": "k", "time_unit": odd}),
        shared.client.put("/v1/destinations/x", json={"kind": odd}),
        shared.client.post("/v1/events", content=doubled.replace(b"\x1b", b"\\u001b"), headers=JSON),
        shared.client.post("/v1/events", content=doubled.replace(b"\x1b", b"\\u001b"), headers=LINES),
        shared.client.post("/v1/match", content=doubled.replace(b"\x1b", b"\\u001b"), headers=LINES),
        shared.client.post("/v1/subscriptions", content=json.dumps({"id": 1, "where": f"'{odd}"}), headers=LINES),
        shared.client.get("/v1/subscriptions", params={odd: 1}),
        shared.client.get("/v1/match", params={"top": odd}),
    ]
    for answer in answers:
        assert answer.status_code < 500
        for letter in odd:
            assert letter.isprintable() or letter not in str(json.loads(answer.text)), answer.text


def test_a_message_that_names_a_key_twice_is_not_counted(shared: Served) -> None:
    good = message('"z"')
    twice = good.replace("{", '{"words": ["b"], ')
    report = shared.client.post(f"{PATH}/messages", content=f"{twice}\n{good}", headers=LINES).json()

    assert (report["accepted"], [one["row"] for one in report["errors"]]) == (1, [0])


@pytest.mark.parametrize("name", ["\\ud800", "\\u001b", "x" * 5000])
def test_an_odd_name_that_comes_twice_is_shown_and_costs_itself_alone(shared: Served, name: str) -> None:
    """What a report says of a line is stored beside its key, and comes again."""
    twice = f'{{"{name}": 1, "{name}": 2}}'
    for number, (path, good) in enumerate((("/v1/events", '{"n": 1}'), (f"{PATH}/messages", message('"q"')))):
        headers = {**LINES, "Idempotency-Key": f"{name[:6]} {number}"}
        first, second = (shared.client.post(path, content=f"{twice}\n{good}", headers=headers) for _ in range(2))
        assert first.status_code == second.status_code == 202, first.text
        assert first.json() == second.json()
        report = first.json()
        assert (report["accepted"], [one["row"] for one in report["errors"]]) == (1, [0])
        assert len(report["errors"][0]["field"]) <= 200 and "\x1b" not in report["errors"][0]["field"]
