"""A monitor reads events of any form, with the options of a call, and keeps some of them for later."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin

INSIDE = "S_INTERSECTS(location, BBOX(0, 0, 10, 10))"
TEXTS = (INSIDE, f"COUNT({INSIDE}, 'PT1M') >= 2", f"{INSIDE} AND COUNT(TRUE, 'PT30S') = 1", "zip = '01067' AND x > 1")
EVENTS: list[dict[str, Any]] = [
    {"car": car, "ts": 10 * n, "x": x, "y": 5, "zip": "01067"}
    for n, (car, x) in enumerate([("a", 3), ("b", 20), ("a", 4), ("a", 12), ("b", 9), ("b", 1)])
]


def source_of(form: str, folder: Path) -> Any:
    if form == "objects":
        return EVENTS
    if form == "table":
        return pa.Table.from_pylist(EVENTS)
    path = folder / f"events.{form}"
    with path.open("w") as file:
        if form == "jsonl":
            file.writelines(json.dumps(one) + "\n" for one in EVENTS)
        else:
            writer = csv.DictWriter(file, list(EVENTS[0]))
            writer.writeheader()
            writer.writerows(EVENTS)
    return path


@pytest.mark.parametrize("lateness", [None, "15 s"])
@pytest.mark.parametrize("form", ["objects", "table", "jsonl", "csv"])
def test_each_form_of_a_source_tells_the_same(form, lateness, tmp_path):
    """Also of points made of two columns, and of what was held back or is kept while time passes."""
    engine = tocsin.Engine()
    for number, text in enumerate(TEXTS):
        engine.subscribe(number, text)
    wanted = tocsin.Monitor(engine, key="car", time="ts", lateness=lateness)
    with_places = [{**one, "location": [one["x"], one["y"]]} for one in EVENTS]
    expected = [*(one for event in with_places for one in wanted.push(event)), *wanted.advance(1000)]

    monitor = tocsin.Monitor(engine, key="car", time="ts", lateness=lateness)
    options = {"points": {"location": ("x", "y")}, "schema": {"zip": "string"}}
    answer = monitor.push_batch(source_of(form, tmp_path), **options)
    found = [tuple(row[name] for name in ("object", "subscription", "change", "seconds")) for row in answer]
    assert [*found, *monitor.advance(1000)] == expected
    assert {one.subscription for one in expected} == {0, 1, 2, 3}
    assert monitor.explain(3, "b").failed == wanted.explain(3, "b").failed
