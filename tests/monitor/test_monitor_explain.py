"""What a monitor says of an object: where it is, why, how far it has come, and when time alone changes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.monitor.over_time import given as as_event
from tests.monitor.over_time import moment, text_of
from tests.naive.flatten import flatten
from tests.naive.over_time import Event, History
from tests.sizes import sized
from tests.strategies.over_time import LONGEST, attributes, conditions, instants
from tocsin.errors import InvalidInput, UnknownSubscription
from tocsin.model.values import Instant

FAILED = "COUNT(ok = FALSE, 'PT10M') >= 5"
SILENT = "SINCE(type = 'heartbeat') >= DURATION('PT10M')"


def monitor_of(*texts: str, **options: object) -> tocsin.Monitor:
    engine = tocsin.Engine()
    for number, text in enumerate(texts):
        engine.subscribe(f"s{number}", text)
    return tocsin.Monitor(engine, **{"key": "user", "time": "ts", **options})  # type: ignore[arg-type]


def push(monitor: tocsin.Monitor, *instants: float, **attributes: object) -> None:
    for at in instants:
        monitor.push({"user": "ann", "ts": at, **attributes})


def lines(monitor: tocsin.Monitor, id: str = "s0", object: str = "ann") -> list[str]:
    return [line.strip() for line in str(monitor.explain(id, object)).splitlines()]


@settings(max_examples=sized(30, 1500), deadline=None)
@given(conditions(), st.lists(st.tuples(instants, attributes), min_size=1, max_size=8), st.integers(0, LONGEST))
def test_the_truth_is_that_of_the_oracle(condition, stream, later):
    """At every instant after the latest event, for all conditions of which something is remembered."""
    monitor = monitor_of(text_of(condition), time="t")
    stream = sorted(stream, key=lambda one: one[0])
    for at, record in stream:
        monitor.push(as_event({"user": "ann", "t": Instant(at), **record}))
    monitor.advance(moment(stream[-1][0] + later))

    history = History([Event(at, flatten(record)[0]) for at, record in stream])
    explained = monitor.explain("s0", "ann")
    if "is not known" not in str(explained):
        assert explained.truth is history.truth_after(condition, len(stream) - 1, stream[-1][0] + later)
    assert explained.microseconds == stream[-1][0] + later


def test_progress_of_a_count():
    monitor = monitor_of(FAILED)
    push(monitor, 0, 60, 120, ok=False)
    assert lines(monitor)[1:] == [
        "the object is not in it",
        f"fails    {FAILED}: COUNT(...) = 3; needed: {FAILED}",
        "3 of 5 so far; the oldest counts until 1970-01-01T00:10:00Z",
    ]

    push(monitor, 180, 240, ok=False)
    monitor.advance(300)
    assert lines(monitor) == [
        "'s0' is TRUE for 'ann' at 1970-01-01T00:05:00Z",
        "the object is in it since 1970-01-01T00:04:00Z, for 1 min",
        f"holds    {FAILED}: COUNT(...) = 5",
        "at least 5 of 5; FALSE after 1970-01-01T00:10:00Z without another",
    ]
    assert monitor.explain("s0", "ann").since == 240_000_000


@pytest.mark.parametrize(
    ("text", "instants", "line"),
    [
        (SILENT, (0,), "4 min so far; TRUE in 6 min, at 1970-01-01T00:10:00Z without another"),
        ("SINCE(type = 'heartbeat') > 600", (0,), "4 min so far; TRUE in 6 min, after 1970-01-01T00:10:00Z without"),
        ("SINCE(type = 'heartbeat') <= 600", (0,), "4 min so far; FALSE in 6 min, after 1970-01-01T00:10:00Z without"),
        ("NOT SINCE(type = 'heartbeat') >= 600", (0,), "4 min so far; FALSE in 6 min, at 1970-01-01T00:10:00Z"),
        ("SINCE(type = 'heartbeat') >= 60", (0,), "4 min so far"),
        ("SINCE(type = 'reset') >= 60", (0,), "no such event so far"),
        ("COUNT(TRUE, 'PT10M') < 3", (0, 60, 120), "at least 3 of 3; TRUE after 1970-01-01T00:10:00Z without another"),
        (
            "COUNT(TRUE, 'PT10M') < 5",
            (0, 60),
            "2 of 5 so far; the oldest counts until 1970-01-01T00:10:00Z; FALSE at 5",
        ),
        ("COUNT(TRUE, 'PT10M') = 4", (0, 60), "2 so far; the oldest counts until 1970-01-01T00:10:00Z"),
        (
            "COUNT_DISTINCT(n, TRUE, 'PT10M') > 1",
            (0, 60),
            "1 of 2 so far; the oldest counts until 1970-01-01T00:11:00Z",
        ),
        (
            "SUM(n, TRUE, 'PT10M') > 10",
            (0, 60),
            "4 of 10 so far, of 2 numbers; the oldest counts until 1970-01-01T00:10",
        ),
        ("AVG(n, TRUE, 'PT1M') > 10", (0,), "no number within the span"),
        ("MAX(n, TRUE, 'PT10M') > 10", (0,), "it counts until 1970-01-01T00:10:00Z"),
    ],
)
def test_progress(text, instants, line):
    monitor = monitor_of(text)
    push(monitor, *instants, type="heartbeat", n=2)
    monitor.advance(240)

    assert lines(monitor)[-1].startswith(line)


@pytest.mark.parametrize(
    "text",
    [
        FAILED.replace("ok = FALSE", "TRUE"),
        "COUNT(TRUE, 'PT10M') < 3.5",
        "NOT COUNT_DISTINCT(ts, TRUE, 'PT5M') <= 2",
        "SINCE(TRUE) >= 77.7",
        "SINCE(TRUE) > 60",
        "SINCE(TRUE) < 0.3",
    ],
)
def test_what_is_foretold_happens(text):
    """A change is foretold to the microsecond: "after" an instant is one microsecond later."""
    monitor = monitor_of(text)
    push(monitor, 0, 100, 130.25, 171, 222)
    monitor.advance(222.000001)
    before = monitor.explain("s0", "ann").truth
    [foretold] = [line for line in lines(monitor) if "without another" in line]
    words = foretold.removesuffix(" without another").split()
    at = datetime.fromisoformat(words[-1]) + timedelta(microseconds=words[-2] == "after")

    monitor.advance(at - timedelta(microseconds=1))
    assert monitor.explain("s0", "ann").truth is before
    monitor.advance(at)
    assert monitor.explain("s0", "ann").truth is not before


def test_attributes_are_those_of_the_latest_event():
    monitor = monitor_of("country = 'de' AND temperature - PREVIOUS(temperature) > 5")
    push(monitor, 0, country="de", temperature=10)
    push(monitor, 60, country="fr", temperature=18)

    assert lines(monitor)[2:] == [
        "all of:",
        "fails    country = 'de': country = 'fr'; needed: country = 'de'",
        "holds    temperature - PREVIOUS(temperature) > 5: temperature = 18, PREVIOUS(...) = 10",
    ]


def test_an_event_that_is_not_kept_is_not_known():
    """Nothing is remembered of an object in no subscription, so that a million of them cost little."""
    monitor = monitor_of("speed > 5")
    push(monitor, 0, speed=3)

    explained = monitor.explain("s0", "ann")
    assert explained.truth is None
    assert "speed is not known: an event is kept only while something of its object is remembered" in str(explained)
    push(monitor, 1, speed=7)
    assert monitor.explain("s0", "ann").matched


def test_an_object_that_is_about_to_enter_or_exit():
    monitor = monitor_of("a = 1", enter_after=3, exit_after="30 s")
    push(monitor, 0, 10, a=1)
    assert lines(monitor)[1:3] == ["the object is not in it", "TRUE 2 of 3 times in a row"]

    push(monitor, 20, a=1)
    push(monitor, 25, a=2)
    assert lines(monitor)[:3] == [
        "'s0' is FALSE for 'ann' at 1970-01-01T00:00:25Z",
        "the object is in it since 1970-01-01T00:00:00Z, for 25 s",
        "exit at 1970-01-01T00:00:55Z, unless its truth changes before",
    ]


def test_keys_lateness_and_rules_of_other_systems():
    engine = tocsin.Engine()
    engine.subscribe("host", "COUNT(ok = FALSE, 'PT1H') >= 3 AND ok = FALSE", by="host")
    engine.subscribe("rule", {"ok": [False]}, language="eventbridge")
    monitor = tocsin.Monitor(engine, key=["host", "user"], time="ts", lateness="1 min")
    for at in (0, 60, 120):
        monitor.push({"host": "a", "user": 1, "ts": at, "ok": False})

    assert lines(monitor, "host", "a")[0] == "'host' is FALSE for 'a' at 1970-01-01T00:01:00Z"
    assert lines(monitor, "host", "a")[-2].startswith("2 of 3 so far; the oldest counts until 1970-01-01T01:00:00Z")
    assert monitor.explain("rule", ("a", 1)).matched  # type: ignore[arg-type]
    assert list(monitor.objects()) == [(("a", 1), ["rule"])]
    assert list(monitor.objects(by="host")) == []


def test_objects_and_what_fires():
    monitor = monitor_of("a >= 1", "a >= 2")
    monitor.push_batch([{"user": user, "ts": n, "a": a} for n, (user, a) in enumerate([("x", 1), ("y", 0), ("z", 2)])])
    monitor.push({"user": "x", "ts": 9, "a": 3})

    assert list(monitor.objects()) == [("z", ["s0", "s1"]), ("x", ["s0", "s1"])]
    assert monitor.firing("s1") == {
        "z": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC),
        "x": datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC),
    }
    assert "s0, s1" in monitor._repr_html_()


def test_unknown_ids_and_objects_are_refused():
    monitor = monitor_of(FAILED)
    push(monitor, 0, ok=False)

    with pytest.raises(UnknownSubscription, match="s9"):
        monitor.explain("s9", "ann")
    with pytest.raises(UnknownSubscription, match="s9"):
        monitor.firing("s9")
    with pytest.raises(InvalidInput, match=r"the object 'bob' is not known by user: no event of it came"):
        monitor.explain("s0", "bob")
    with pytest.raises(TypeError, match="monitor in each process"):
        monitor.__reduce__()
