"""Warnings of fences: options that name the wrong attribute, and the rows of events that were not taken as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin

FORMS: list[Any] = [
    list,
    pa.Table.from_pylist,
    lambda events: "\n".join(map(json.dumps, events)).encode(),
]
"""Dicts, a table and JSON lines."""


def engine_of(*names: str) -> tocsin.Engine:
    engine = tocsin.Engine()
    for name in names:
        engine.subscribe(name, f"S_INTERSECTS({name}, BBOX(0, 0, 5, 5))")
    return engine


def told(answer: tocsin.Answer, option: str) -> list[str]:
    return [str(one) for one in answer.warnings if one.condition.startswith(option)]


@pytest.mark.parametrize("form", FORMS)
def test_a_path_without_points_is_told(form: Any) -> None:
    """With the one attribute that has places; whether subscriptions use it, or only events lack it."""
    events = [{"v": 1, "location": [1, 1]}, {"v": 1, "location": [9, 1]}]
    one, both = (tocsin.Fences(engine_of(*names), key="v", path="pos") for names in (["location"], ["location", "pos"]))

    assert told(one.push_batch(form(events)), "path") == [
        "path='pos': no subscription uses pos; did you mean location?"
    ]
    assert told(both.push_batch(form(events)), "path") == [
        "path='pos': no event has a point there; did you mean location?"
    ]
    assert told(tocsin.Fences(engine_of("pos"), key="v", path="pos").push_batch([{"v": 1}]), "path") == [
        "path='pos': no event has a point there"
    ]


def test_a_path_with_points_is_not_told(tmp_path: Path) -> None:
    """Though they came in an earlier batch, or before the fences were saved."""
    fences = tocsin.Fences(engine_of("pos"), key="v", path="pos")
    assert told(fences.push_batch([]), "path") == []
    assert told(fences.push_batch([{"v": 1, "pos": [1, 1]}]), "path") == []
    assert told(fences.push_batch([{"v": 1}]), "path") == []

    fences.save(tmp_path / "f.jsonl")
    again = tocsin.Fences.load(tmp_path / "f.jsonl", engine_of("pos"))
    assert told(again.push_batch([{"v": 1}]), "path") == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["pos", "location"])
def test_a_point_with_the_name_of_an_object_is_told(form: Any, name: str) -> None:
    """The object is the event's value of that name, so no point is made; in matches, too."""
    engine, other = engine_of(name), "place" if name == "location" else "location"
    points = {name: (f"{name}.x", f"{name}.y")}
    events = form([{"v": 1, name: {"x": 1.5, "y": 1.5}}])
    wanted = [f"points={points}: {name} is an object; write {other}={name}.x:{name}.y, and ask about {other}"]

    assert told(tocsin.Fences(engine, key="v").push_batch(events, points=points), "points") == wanted
    assert told(engine.match_batch(events, points=points), "points") == wanted
    moved = engine_of(other).match_batch(events, points={other: points[name]})
    assert len(moved) == 1 and moved.warnings == []


@pytest.mark.parametrize("form", FORMS)
def test_an_object_in_degrees_needs_no_points(form: Any) -> None:
    """It is a point under its own name, and asking for one of its members changes nothing."""
    engine = engine_of("pos")
    events = form([{"v": 1, "pos": {"lon": 1.5, "lat": 1.5}}])
    for points in (None, {"pos": ("pos.lon", "pos.lat")}):
        answer = engine.match_batch(events, points=points)
        assert len(answer) == 1 and answer.warnings == []


def test_events_that_are_counted_have_rows() -> None:
    """The first three of each kind, in order, whatever the order of their times."""
    engine = engine_of("pos")
    fences = tocsin.Fences(engine, key="v", time="t", order="time")
    events: list[dict[str, Any]] = [{"v": 1, "pos": [1, 1], "t": 100}]
    events += [{"v": 1, "pos": [1, 1], "t": 50 - late} for late in range(5)]
    events += [{"v": 2, "pos": [1, 1], "t": "soon"}, {"v": 1, "t": 101}, {"v": 1, "t": 102}]
    fences.push_batch(events[:1])

    assert [str(one) for one in fences.push_batch(events).warnings] == [
        "time='t': 1 event (row 6) with unreadable times, treated as without a time",
        "time='t': 5 events (rows 1, 2, 3 and more) ignored: older than the latest event of the same object",
        "events: 2 events (rows 7, 8) did not say whether the object is still inside; it stays inside",
    ]
