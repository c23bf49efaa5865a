"""Times of fences: late events, their order, spans and units."""

from __future__ import annotations

import datetime as dt

import pytest

import tocsin
from tests.monitor.fence_samples import ZONES, drive, engine_of, told


def test_one_without_a_time_keeps_nobody() -> None:
    """Objects that were never seen at a time, and events that come late, let others be forgotten all the same."""
    fences = tocsin.Fences(engine_of({"one": "x = 1"}), key="v", time="t", forget_after=10)
    for event in (
        {"v": "a", "x": 1},
        {"v": "b", "t": 100, "x": 1},
        {"v": "c", "t": 99, "x": 1},
        {"v": "b", "t": 4, "x": 1},
    ):
        fences.push(event)

    assert [(one.object, one.change) for one in fences.push({"v": "d", "t": 110, "x": 0})] == [("c", "lost")]
    assert [(one.object, one.change) for one in fences.push({"v": "d", "t": 111, "x": 0})] == [("b", "lost")]
    assert dict(fences.objects()) == {"a": ["one"]}


def test_events_that_come_late_are_ignored_and_told() -> None:
    """By the latest time of the object, though it is in nothing; another object may be later."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t")

    answer = fences.push_batch(
        [*drive(1, t=0), *drive(9, t=10), *drive(1, t=8), *drive(1, t=8, vehicle=2), *drive(1, t=10), *drive(2)]
    )

    assert told(answer) == [
        (0, 1, "left", "enter"),
        (1, 1, "left", "exit"),
        (3, 2, "left", "enter"),
        (4, 1, "left", "enter"),
    ]
    assert [str(one) for one in answer.warnings] == [
        "time='t': 1 event (row 2) ignored: older than the latest event of the same object"
    ]


def test_events_of_a_call_may_be_taken_in_the_order_of_their_times() -> None:
    """`order="time"` sorts them; what is told keeps their rows."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", order="time")

    answer = fences.push_batch([*drive(9, t=10), *drive(1, t=0), *drive(2, t=5)])

    assert [tuple(one.values())[:5] for one in answer] == [(0, 1, "left", "exit", 10.0), (1, 1, "left", "enter", 0.0)]
    assert answer.warnings == []


def test_a_batch_has_the_time_and_a_key_of_each_event() -> None:
    """As they came, in the order of the events; mixed types are texts, as keys are; a misspelt name is told."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", order="time")
    first = fences.push_batch([*drive(9, t=10, of={"id": 7}), *drive(1, t=5, of={"id": 8})], event_key="of.id")
    assert [tuple(one.values()) for one in first] == [
        (0, 7, 1, "left", "exit", 5.0, 10),
        (1, 8, 1, "left", "enter", 0.0, 5),
    ]
    assert first.table.schema.names == ["event", "event_key", "object", "subscription", "change", "seconds", "time"]

    moment = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
    second = fences.push_batch([*drive(1, t=moment, id="a")], event_key="id")
    third = fences.push_batch([*drive(9, t="2024-06-01T01:00:00Z", id="a"), *drive(1, t=2e9)], event_key="idd")
    assert [(one["event_key"], one["time"]) for one in second] == [("a", moment)]
    assert [(one["event_key"], one["time"]) for one in third] == [
        (None, "2024-06-01T01:00:00Z"),
        (None, "2000000000.0"),
    ]
    assert "event_key='idd': no event has idd; did you mean id?" in map(str, third.warnings)
    assert fences.push_batch([], event_key="id").table.schema.names == first.table.schema.names
    with pytest.raises(tocsin.InvalidInput, match="event_key is 5; it names an attribute"):
        fences.push_batch([], event_key=5)  # type: ignore[arg-type]


def test_an_entry_and_an_exit_may_take_time() -> None:
    """A run of hits, or of misses, has to last so long; one odd event between begins it anew."""
    for span in ("10 s", dt.timedelta(seconds=10)):
        fences = tocsin.Fences(
            engine_of({"left": ZONES["left"]}), key="vehicle", time="t", enter_after=span, exit_after=span
        )
        places = [(1, 0), (1, 9), (1, 10), (9, 12), (9, 21), (1, 22), (9, 23), (9, 32), (9, 33), (1, 40)]
        answer = fences.push_batch([one for x, t in places for one in drive(x, t=t)])
        assert [(r["event"], r["change"], r["seconds"]) for r in answer] == [(2, "enter", 10.0), (8, "exit", 33.0)]


def test_every_option_for_a_time_takes_a_span() -> None:
    """As a number of seconds, a text or a `timedelta`; also one of many days."""
    for dwell, after in ((60, 3600), ("1 min", "1 h"), (dt.timedelta(minutes=1), dt.timedelta(hours=1))):
        fences = tocsin.Fences(
            engine_of({"left": ZONES["left"]}), key="vehicle", time="t", dwell=dwell, forget_after=after
        )
        answer = fences.push_batch([*drive(1, t=0), *drive(1, t=60), *drive(9, vehicle=2, t=3661)])
        assert [(r["event"], r["change"]) for r in answer] == [(0, "enter"), (1, "dwell"), (2, "lost")]

    fences = tocsin.Fences(
        engine_of({"left": ZONES["left"]}), key="vehicle", time="t", enter_after=dt.timedelta(days=20)
    )
    assert [len(fences.push({**drive(1)[0], "t": day * 86400})) for day in (0, 19, 20)] == [0, 0, 1]


def test_times_in_another_unit_are_read_or_told() -> None:
    """`time_unit` says what numbers are; one that looks like another unit, or cannot be read, is told."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", time_unit="ms")
    answer = fences.push_batch([*drive(1, t=1714564800000), *drive(9, t=1714564801500)])
    assert [r["seconds"] for r in answer] == [0.0, 1.5] and answer.warnings == []

    for events, said in (
        (drive(1, t=1714564800000), "1 event (row 0) with times that look like another unit; give time_unit"),
        (drive(1, t="soon"), "1 event (row 0) with unreadable times"),
        (drive(1), "no event has t, so that times in seconds are unknown"),
    ):
        fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t")
        assert [said in str(one) for one in fences.push_batch(events).warnings] == [True]
