"""ANY_ATTRIBUTE: some value of an event, wherever it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin
from tocsin.language import evaluate, explain, parse, parse_any, to_json, to_text
from tocsin.model.elements import values_for

EVENT = {"a": "an error", "b": {"c": [1, {"d": "deep"}]}, "e": None, "f": True, "tags": ["x", "y"]}
CASES = [
    ("ANY_ATTRIBUTE(element LIKE '%error%')", EVENT, True),
    ("ANY_ATTRIBUTE(element = 'deep')", EVENT, True),
    ("ANY_ATTRIBUTE(element = 'y' OR element = 5)", EVENT, True),
    ("ANY_ATTRIBUTE(element = 1)", EVENT, True),
    ("ANY_ATTRIBUTE(element)", EVENT, True),
    ("ANY_ATTRIBUTE(CASEI(element) LIKE CASEI('%ERR%'))", EVENT, True),
    ("ANY_ATTRIBUTE(TEXT(element, 'ERROR'))", EVENT, True),
    ("ANY_ATTRIBUTE(element = 'none')", EVENT, None),
    ("ANY_ATTRIBUTE(element = 'none')", {"a": "x", "b": ["y"]}, False),
    ("ANY_ATTRIBUTE(element = 'none')", {}, False),
    ("ANY(items, ANY_ATTRIBUTE(element = 'deep') AND n = 1)", {"items": [{"n": 1, "x": {"y": "deep"}}]}, True),
    ("ANY(items, ANY_ATTRIBUTE(element = 'deep') AND n = 1)", {"items": [{"n": 1}, {"x": "deep"}]}, None),
]


@pytest.mark.parametrize(("where", "event", "truth"), CASES)
def test_a_value_anywhere(where: str, event: dict[str, object], truth: bool | None) -> None:
    """In lists and nested objects, too; names do not matter, and nulls are not values."""
    tree = parse(where)

    assert evaluate(tree, values_for([tree], event)) is truth
    assert parse(to_text(tree)) == tree == parse_any(to_json(tree))
    found = tocsin.match([{"id": 1, "where": where}, {"id": 2, "where": f"NOT {where}"}], event)
    assert found.table.column("subscription").to_pylist() == {True: [1], False: [2], None: []}[truth]


@pytest.mark.parametrize("times", [1, 100])
def test_every_source_has_it(tmp_path: Path, times: int) -> None:
    """All columns are read, also those that no other subscription asks for; CSV and sparse events have it, too."""
    subscriptions = [{"id": n, "where": where} for n, where in enumerate(["ANY_ATTRIBUTE(element = 'y')", "zz = 1"])]
    events = [{"p": "x", "q": [{"r": "y"}]}, {"p": "y"}, {"p": "z", "q": []}] * times
    table = pa.Table.from_pylist(events)
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (tmp_path / "events.csv").write_text("p,q\n" + "x,y\ny,\nz,\n" * times)
    sparse = pa.table({"names": [["a", "b"], ["a"]], "values": [[1.0, 2.0], [3.0]]})

    for source in (events, table, tmp_path / "events.jsonl", tmp_path / "events.csv"):
        found = tocsin.match(subscriptions, source).table.column("event").to_pylist()
        assert found == [row for row in range(3 * times) if row % 3 < 2]
    where = {"id": 1, "where": "ANY_ATTRIBUTE(element = 2)"}
    assert tocsin.match(where, tocsin.SparseEvents(sparse)).table.column("event").to_pylist() == [0]


def test_thousands_of_values_are_looked_up(tmp_path: Path) -> None:
    """The conditions are indexed; so are those of a saved folder, and texts of one form share a template."""
    engine = tocsin.Engine()
    engine.subscribe_many({"id": n, "where": f"ANY_ATTRIBUTE(element = 'v{n}') AND x = 1"} for n in range(3000))

    answer = engine.match_batch([{"x": 1, "deep": {"list": ["v7"]}}, {"x": 2, "y": "v8"}])
    engine.save(tmp_path / "folder")

    assert answer.table.to_pylist() == [{"event": 0, "subscription": 7}]
    assert answer.stats.candidates_examined <= 3
    assert len(tocsin.Engine.load(tmp_path / "folder").match({"x": 1, "y": "v9"})) == 1


def test_explain_shows_the_nearest_value() -> None:
    """And how many there are."""
    tree = parse("ANY_ATTRIBUTE(element = 'none')")

    told = str(explain(tree, values_for([tree], {"a": "x", "b": 5})))

    assert "the event has 2 values; needed: a value with element = 'none'" in told
    assert "\x00" not in told
    (warning,) = tocsin.match({"id": 1, "where": "ANY_ATTRIBUTE(element = 'none')"}, [{"a": 1}]).warnings
    assert "\x00" not in str(warning)


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("ANY_ATTRIBUTE(a, element = 1)", "takes one argument"),
        ("ANY_ATTRIBUTE('x')", "takes a condition for values"),
        ("SOME(a, ANY_ATTRIBUTE(element = 1))", "cannot stand in SOME"),
    ],
)
def test_a_mistake_is_named(where: str, problem: str) -> None:
    """The message says what is allowed."""
    with pytest.raises(tocsin.ExpressionError, match=problem):
        parse(where)
