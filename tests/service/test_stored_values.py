"""Any text, number or date is refused with 4xx, or every answer that lists it can be read, also after a restart."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service.served import Served, served
from tests.sizes import sized
from tocsin.service.times import milliseconds_of, time_text

JSON: Final = {"Content-Type": "application/json"}
LINES: Final = {"Content-Type": "application/x-ndjson"}
LISTS: Final = (
    "/v1/subscriptions?limit=1000",
    "/v1/windows",
    "/v1/windows/w",
    "/v1/windows/w/subscriptions",
    "/v1/windows/w/results/u",
    "/v1/fences",
    "/v1/destinations",
    "/v1/destinations/d/deliveries?limit=1000",
    "/v1/regions",
    "/v1/activity",
    "/v1/audit",
)
"""What lists stored values."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        fill(server)
        yield server


def fill(server: Served) -> None:
    """What stored values meet: a destination, a fence, a window, and a subscription of each."""
    server.destination()
    server.client.put("/v1/fences/f", json={"key": "object"}).raise_for_status()
    server.subscribe("s", "a = 1", destination="d").raise_for_status()
    server.subscribe("fenced", "a = 1", destination="d", fence="f").raise_for_status()
    server.client.put("/v1/windows/w", json={"size": 100, "bounds": [0, 0, 9, 9]}).raise_for_status()
    server.client.put("/v1/windows/t", json={"time": 60, "bounds": [0, 0, 9, 9]}).raise_for_status()
    for window in "wt":
        interest = {"words": ["a"], "location": [1, 1], "destination": "d"}
        server.client.put(f"/v1/windows/{window}/subscriptions/u", json=interest).raise_for_status()


def read(answer: httpx.Response) -> Any:
    """The document of an answer, as the strictest reader of JSON reads it."""

    def constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    def number(text: str) -> float:
        assert len(text) < 400 and math.isfinite(float(text))
        return float(text)

    text = answer.content.decode()
    text.encode("utf-16")
    return json.loads(text, parse_constant=constant, parse_float=number, parse_int=number)


def require_readable(server: Served) -> None:
    for path in LISTS:
        answer = server.client.get(path)
        assert answer.status_code == 200, (path, answer.text[:300])
        read(answer)
    assert server.client.post("/v1/dry-run", json={"where": "a = 1"}).status_code == 200
    for event in ({"a": 1}, {"a": 2}):
        assert server.client.post("/v1/match", json=event).status_code == 200
    assert server.client.get("/metrics").status_code == 200


class Door(NamedTuple):
    """A call that stores a document: its smallest document, and the fields that get values."""

    method: str
    path: str
    least: Mapping[str, str]
    fields: tuple[str, ...]


_ROUTE: Final = ("payload", "throttle_s", "paused_until", "expires_at", "id", "destination")
_MESSAGE: Final = {"words": '["a"]', "location": "[1, 1]"}
DOORS: Final = (
    Door("PUT", "/v1/subscriptions/x", {"where": '"a = 1"'}, (*_ROUTE, "score", "weights", "where", "new")),
    Door("PUT", "/v1/windows/w/subscriptions/x", _MESSAGE, (*_ROUTE, "words", "text", "location", "k", "alpha")),
    Door("POST", "/v1/subscriptions", {"id": '"x"', "where": '"a = 1"'}, (*_ROUTE, "score", "weights", "where")),
    Door("POST", "/v1/windows/w/subscriptions", {"id": '"x"', **_MESSAGE}, (*_ROUTE, "words", "location")),
    Door("POST", "/v1/events", {"a": "1"}, ("object", "new")),
    Door("POST", "/v1/windows/w/messages", _MESSAGE, ("key", "words", "text", "location", "new")),
    Door("POST", "/v1/windows/t/messages", {**_MESSAGE, "time": "0"}, ("time", "key", "location")),
    Door("POST", "/v1/windows/t/advance", {}, ("time",)),
    Door("PUT", "/v1/destinations/x", {"kind": '"webhook"', "url": '"https://example.org/"'}, (
        "paused_until", "rate_per_s", "digest_s", "max_attempts", "failures_to", "url", "secret",
    )),
    Door("PUT", "/v1/fences/x", {"key": '"k"'}, (
        "key", "time", "path", "where", "enter_after", "exit_after", "dwell", "forget_after", "no_places",
        "most_objects", "time_unit", "inside",
    )),
    Door("PUT", "/v1/windows/x", {"size": "9", "bounds": "[0, 0, 1, 1]"}, (
        "size", "time", "bounds", "weights", "text",
    )),
    Door("POST", "/v1/destinations/d/replay", {}, ("since", "from")),
)  # fmt: skip
_PLACES: Final = st.sampled_from([(door, field) for door in DOORS for field in door.fields])
_TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=12),
    st.sampled_from(("\ud800", "\x00", "\u2028", "\ufeff", "\uffff", ".", "..", "a,b", "😀", "x" * 300, "1e999 s")),
)
_OTHERS = st.sampled_from(
    (
        "null",
        "true",
        "0",
        "-0.0",
        "1e308",
        "-1e308",
        "1e-308",
        "5e-324",
        "1e309",
        "1e999",
        "9" * 400,
        "9" * 5000,
        "9223372036854775808",
    )
)
_NUMBERS = st.integers().map(str) | st.floats(allow_nan=False, allow_infinity=False).map(repr) | _OTHERS
_DATES = st.one_of(
    st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat()),
    st.sampled_from(
        (
            "9999-12-31T23:59:59-05:00", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z",
            "0001-01-01T00:00:00+14:00", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-06-01T00:00:60Z",
            "2026-06-01T00:00:00+23:59", "2026-06-01T00:00:00.123456789Z", "1969-12-31T23:59:59.9995Z",
        )
    ),
)  # fmt: skip


def _wrapped(value: str) -> st.SearchStrategy[str]:
    return st.sampled_from((value, f"[{value}]", f'{{"a": {value}}}', f"[[{value}, 1]]", f"[{value}, {value}]"))


_VALUES = (st.one_of(_TEXTS.map(json.dumps), _NUMBERS, _DATES.map(json.dumps))).flatmap(_wrapped)


@settings(max_examples=sized(120, 2000))
@given(_PLACES, _VALUES)
def test_what_a_document_stores_can_be_read(shared: Served, place: tuple[Door, str], value: str) -> None:
    door, field = place
    members = {**door.least, field: value}
    body = f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in members.items())}}}"
    for headers in (JSON, LINES):
        answer = shared.client.request(door.method, door.path, content=body, headers=headers)
        assert answer.status_code < 500, answer.text
        read(answer)
    require_readable(shared)
    for path in ("fences/x", "windows/x", "destinations/x", "subscriptions/x", "windows/w/subscriptions/x"):
        shared.client.delete(f"/v1/{path}")


@pytest.mark.parametrize("field", ["paused_until", "expires_at"])
@given(_DATES)
def test_a_date_is_refused_or_shown_as_the_same_moment(shared: Served, field: str, text: str) -> None:
    kinds = {"subscriptions": {"where": "a = 1"}, "windows/w/subscriptions": {"words": ["a"], "location": [1, 1]}}
    for kind, least in kinds.items():
        path = f"/v1/{kind}/x"
        answer = shared.client.put(path, json={**least, field: text})
        if answer.status_code == 422:
            assert answer.json()["field"] == field and not _is_shown(text)
            continue
        shown = shared.client.get(path)
        if shown.status_code == 404:  # it has expired
            assert field == "expires_at" and text[:4] < "2027"
            continue
        moment = datetime.fromisoformat(shown.json()[field])
        assert moment.tzname() == "UTC" and timedelta() <= datetime.fromisoformat(text) - moment < timedelta(0.001)


def _is_shown(text: str) -> bool:
    """Whether RFC 3339 shows a moment in UTC."""
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


def test_times_of_an_older_store_are_shown(shared: Served) -> None:
    """A time that an earlier release stored, and no text shows, does not fail the list."""
    assert time_text(10**18)[:4] == "9999" and time_text(-(10**18))[:4] == "0001"
    assert time_text(-1) == "1969-12-31T23:59:59.999Z"
    assert milliseconds_of(time_text(10**18)) == milliseconds_of("9999-12-31T23:59:59.999Z")


@pytest.mark.parametrize("given", [{"no_places": [["nan", "inf"]]}, {"dwell": "9" * 400 + " s", "time": "t"}])
def test_options_of_a_fence_are_finite(shared: Served, given: dict[str, Any]) -> None:
    answer = shared.client.put("/v1/fences/y", json={"key": "k", **given})

    assert answer.status_code == 422
    assert next(iter(given)) in answer.json()["detail"]
