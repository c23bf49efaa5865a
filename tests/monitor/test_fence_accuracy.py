"""A position that may be anywhere in a circle changes nothing where the circle is neither inside nor outside."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.monitor.fence_samples import told
from tocsin.cli.main import main
from tocsin.language import parse
from tocsin.language.evaluate import evaluate
from tocsin.model.values import Point
from tocsin.monitor.fences.accuracies import radius_of, truth_within

CONDITIONS = [
    "S_INTERSECTS(loc, BBOX(0, 0, 1, 1))",
    "S_WITHIN(loc, POLYGON((0 0, 2 0, 1 1, 0 0)))",
    "S_DISJOINT(loc, BBOX(0, 0, 1, 1))",
    "DISTANCE_M(loc, POINT(0.5 0.5)) <= 40000",
    "DISTANCE_M(loc, POINT(0.5 0.5)) > 20000",
    "NOT HOLDS(S_INTERSECTS(loc, BBOX(0, 0, 1, 1)))",
    "S_INTERSECTS(loc, BBOX(0, 0, 1, 1)) AND DISTANCE_M(loc, POINT(0 0)) < 90000 OR speed > 5",
]
METRES_A_DEGREE = 111_195


@given(st.sampled_from(CONDITIONS), st.tuples(*[st.floats(-0.5, 1.5)] * 2), st.sampled_from([10.0, 5_000.0, 60_000.0]))
def test_what_is_certain_holds_all_over_the_circle(text: str, place: tuple[float, float], metres: float) -> None:
    """At its centre, within it and near its edge."""
    tree = parse(text)
    truth = truth_within(tree, {"loc": Point(*place), "speed": 1.0}, metres)
    if truth is None:
        return
    for part in (0.0, 0.5, 0.995):
        for angle in range(0, 360, 30):
            x = place[0] + part * metres / METRES_A_DEGREE * math.cos(math.radians(angle)) / math.cos(
                math.radians(place[1])
            )
            y = place[1] + part * metres / METRES_A_DEGREE * math.sin(math.radians(angle))
            assert evaluate(tree, {"loc": Point(x, y), "speed": 1.0}) is truth


@pytest.mark.parametrize(
    ("text", "place", "truths"),
    [
        (CONDITIONS[0], (0.5, 0.5), {10: True, 50_000: True, 60_000: None}),
        (CONDITIONS[0], (1.1, 0.5), {10: False, 11_000: False, 11_200: None}),
        (CONDITIONS[2], (1.1, 0.5), {10: True, 11_200: None}),
        (CONDITIONS[5], (1.1, 0.5), {10: True, 11_200: None}),
        (CONDITIONS[3], (0.5, 0.5), {39_000: True, 41_000: None}),
        (CONDITIONS[4], (0.5, 0.5), {19_000: False, 21_000: None}),
    ],
)
def test_a_larger_circle_leaves_more_open(
    text: str, place: tuple[float, float], truths: dict[int, bool | None]
) -> None:
    tree = parse(text)
    assert {metres: truth_within(tree, {"loc": Point(*place)}, metres) for metres in truths} == truths


def test_only_numbers_above_zero_are_radii() -> None:
    values = [5, 0.5, 0, -1, math.inf, math.nan, True, "5", None, [5]]
    assert list(map(radius_of, values)) == [5.0, 0.5, *[None] * 8]


EVENTS: list[dict[str, Any]] = [
    {"v": 1, "loc": [1.001, 0.5], "acc": 500},
    {"v": 1, "loc": [0.999, 0.5], "acc": 500},
    {"v": 1, "loc": [0.9, 0.5], "acc": 500},
    {"v": 1, "loc": [1.001, 0.5], "acc": 500},
    {"v": 1, "loc": [1.1, 0.5], "acc": "unknown"},
    {"v": 1, "loc": [0.999, 0.5]},
]
CHANGES = [(2, "enter"), (4, "exit"), (5, "enter")]


def fences_of(**options: Any) -> tocsin.Fences:
    engine = tocsin.Engine()
    engine.subscribe("zone", CONDITIONS[0])
    return tocsin.Fences(engine, key="v", accuracy="acc", **options)


def test_a_fix_that_leaves_it_open_changes_nothing(tmp_path: Path) -> None:
    """One by one, in a batch, and with a state that was saved."""
    fences = fences_of()
    assert [(row, change) for row, _, _, change in told(fences.push_batch(EVENTS, event_key="acc"))] == CHANGES
    singly = fences_of()
    found = [(row, change.change) for row, event in enumerate(EVENTS) for change in singly.push(event)]
    assert found == CHANGES
    first = fences_of()
    first.push_batch(EVENTS[:3])
    first.save(tmp_path / "f.jsonl")
    engine = tocsin.Engine()
    engine.subscribe("zone", CONDITIONS[0])
    again = tocsin.Fences.load(tmp_path / "f.jsonl", engine)
    assert [change for _, _, _, change in told(again.push_batch(EVENTS[3:]))] == ["exit", "enter"]


def test_a_line_to_a_place_that_leaves_it_open_crosses_nothing() -> None:
    """A certain place beyond does."""
    for metres, expected in ((100, ["cross"]), (2_000, [])):
        fences = fences_of(path="loc")
        fences.push({"v": 1, "loc": [-1, 0.5]})
        found = fences.push({"v": 1, "loc": [1.01, 0.5], "acc": metres})
        assert [change.change for change in found] == expected


def test_the_command_has_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text(json.dumps({"id": "zone", "where": CONDITIONS[0]}) + "\n")
    Path("e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    assert main(["fences", "s.jsonl", "e.jsonl", "--key", "v", "--accuracy", "acc", "--out", "c.jsonl"]) == 0
    rows = [json.loads(line) for line in Path("c.jsonl").read_text().splitlines()]
    assert [(row["event"], row["change"]) for row in rows] == CHANGES


def test_an_accuracy_is_the_name_of_an_attribute() -> None:
    with pytest.raises(tocsin.InvalidInput, match="accuracy is 5; it names an attribute"):
        tocsin.Fences(tocsin.Engine(), key="v", accuracy=5)  # type: ignore[arg-type]
