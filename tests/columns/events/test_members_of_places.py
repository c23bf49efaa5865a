"""A GeoJSON geometry is a place and an object, through every door; so are a latitude and a longitude."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tests.naive import flatten as naive
from tests.naive.truth import truth


def _point(x: float, y: float, **members: Any) -> dict[str, Any]:
    return {"type": "Point", "coordinates": [x, y], **members}


COLLECTION = {"type": "GeometryCollection", "geometries": [_point(1, 2)]}
WHERE = [
    "g.type = 'Point'",
    "g.type = 'GeometryCollection' OR g.type = 'Polygon'",
    "SOME(g.coordinates, element = 37.5)",
    "A_CONTAINS(g.coordinates, (37.5))",
    "g.name = 'x' OR g.crs.type = 'name'",
    "GIVEN(g.type)",
    "GIVEN(g.note)",
    "S_INTERSECTS(g, BBOX(-180, -90, 180, 90))",
    "NOT S_INTERSECTS(g, BBOX(0, 0, 5, 5))",
    "g.coordinates IS NULL",
    "g.geometries IS NULL",
    "ANY(g.geometries, type = 'Point')",
    "a.g.type = 'Point' AND S_INTERSECTS(a.g, BBOX(0, 0, 5, 5))",
    "ANY(l, type = 'Point')",
    "ANY(l, S_INTERSECTS(element, BBOX(0, 0, 1.5, 5)))",
    "ANY(l, ANY(geometries, type = 'Point'))",
    "ANY_ATTRIBUTE(element = 'Point')",
    "g.lat > 3",
    "g IS NULL",
]
EVENTS: list[dict[str, Any]] = [
    {"g": _point(-122.5, 37.5)},
    {"g": _point(1, 2, name="x")},
    {"g": _point(1, 2, crs={"type": "name"}, bbox=[1, 2, 1, 2])},
    {"g": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}},
    {"g": COLLECTION},
    {"g": {"type": "Point"}},
    {"g": {"type": "Point", "coordinates": "37.5"}},
    {"g": _point(1, 2, note=None)},
    {"g": None},
    {"a": {"g": _point(3, 4)}},
    {"l": [_point(1, 2), _point(3, 4)]},
    {"l": [COLLECTION]},
    {"l": [1, _point(1, 2)]},
    {"g": {"lat": 40, "lon": -70.5}},
    {"g": {"latitude": 4.5, "longitude": 1}},
    {"g": {"lat": 95, "lon": 1}},
    {"g": {"lat": "4", "lon": 1}},
    {"g": {"lat": None, "lon": 1}},
    {"g": {"lat": 1, "lon": 1, "alt": 2}},
    {"l": [{"lat": 1, "lon": 2}]},
]


def _expected(event: dict[str, Any]) -> list[int]:
    values, _ = naive.flatten(event)
    return [number for number, where in enumerate(WHERE) if truth(tocsin.parse(where), values) is True]


@pytest.fixture(scope="module")
def engine() -> tocsin.Engine:
    engine = tocsin.Engine()
    engine.subscribe_many({"id": number, "where": where} for number, where in enumerate(WHERE))
    return engine


def _found(answer: tocsin.Answer, events: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(events)]
    for event, number in zip(*(answer.table[name].to_pylist() for name in ("event", "subscription")), strict=True):
        found[event].append(number)
    return [sorted(numbers) for numbers in found]


def test_as_python_objects(engine: tocsin.Engine) -> None:
    """One by one, whose forms are known from the third on, and many at once."""
    expected = [_expected(event) for event in EVENTS]
    for _ in range(3):
        assert [sorted(match.subscription for match in engine.match(event)) for event in EVENTS] == expected
    assert _found(engine.match_batch(EVENTS * 5), 5 * len(EVENTS)) == expected * 5


def test_as_lines(engine: tocsin.Engine, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, EVENTS)))
    found = _found(engine.match_batch(tmp_path / "events.jsonl"), len(EVENTS))
    assert found == [_expected(event) for event in EVENTS]


@pytest.mark.parametrize("event", [event for event in EVENTS if event != {"l": [1, _point(1, 2)]}])
def test_as_a_table(engine: tocsin.Engine, event: dict[str, Any]) -> None:
    """In a table a null is absence."""
    expected = [number for number in _expected(event) if WHERE[number] != "GIVEN(g.note)"]
    assert _found(engine.match_batch(pa.Table.from_pylist([event])), 1) == [expected]


def test_one_place_twice_is_a_bad_event(engine: tocsin.Engine) -> None:
    answer = engine.match_batch([{"g": _point(1, 2), "g.type": "x"}, {"g": _point(1, 2)}])
    assert [(error.row, error.field) for error in answer.errors] == [(0, "g.type")]
