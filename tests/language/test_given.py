"""GIVEN tells a null that was given from an absent attribute."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin
from tocsin.language import evaluate, explain, parse, parse_any, to_json, to_text
from tocsin.model.elements import values_for

SUBSCRIPTIONS = [
    {"id": "given", "where": "GIVEN(x)"},
    {"id": "null", "where": "GIVEN(x) AND x IS NULL"},
    {"id": "absent", "where": "NOT GIVEN(x)"},
    {"id": "inside", "where": "GIVEN(a.b) AND a.b IS NULL"},
    {"id": "element", "where": "ANY(items, GIVEN(x) AND x IS NULL)"},
    {"id": "itself", "where": "ANY(items, GIVEN(element) AND element IS NULL)"},
]
EVENTS = [
    ({"x": 1}, ["given"]),
    ({"x": None}, ["given", "null"]),
    ({"x": {}}, ["given"]),
    ({"y": None}, ["absent"]),
    ({}, ["absent"]),
    ({"a": {"b": None}, "x": None}, ["given", "inside", "null"]),
    ({"a.b": None, "x": 1}, ["given", "inside"]),
    ({"a": {"b": [None]}}, ["absent"]),
    ({"a": [{"b": None}], "x": 1}, ["given"]),
    ({"items": [{"x": 1}, {"x": None}]}, ["absent", "element"]),
    ({"items": [{"y": None}]}, ["absent"]),
    ({"items": [1, None]}, ["absent", "itself"]),
]


def matches(events: object) -> list[list[str]]:
    found = tocsin.match(SUBSCRIPTIONS, events, lists=True)
    return found.table.column("subscription").to_pylist()


def test_a_null_is_given_in_dicts_and_in_json(tmp_path: Path) -> None:
    """Whether events come one by one, in columns, or as lines of JSON."""
    events, expected = [event for event, _ in EVENTS], [names for _, names in EVENTS]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))

    assert matches(events) == expected
    assert [matches([event]) for event in events] == [[names] for names in expected]
    assert matches(events * 9) == expected * 9
    assert matches(tmp_path / "events.jsonl") == expected


def test_plain_objects_and_plain_lines_have_it() -> None:
    """The columns of objects with the same names, and the kernel of JSON lines, tell both apart."""
    events = [{"x": None, "y": 1}, {"y": 2}, {"x": 3, "y": None}] * 40
    lines = "\n".join(map(json.dumps, events)).encode()
    expected = [["given", "null"], ["absent"], ["given"]] * 40

    assert matches(events) == expected
    assert matches(lines) == expected


def test_evaluator_and_explain_say_the_same() -> None:
    """They look at the record."""
    for event, names in EVENTS:
        for one in SUBSCRIPTIONS:
            tree = parse(one["where"])
            values = values_for([tree], event)
            assert (evaluate(tree, values) is True) == (one["id"] in names)
            assert explain(tree, values).matched == (one["id"] in names)
    tree = parse("NOT GIVEN(x)")
    assert "x is null; needed: x absent" in str(explain(tree, values_for([tree], {"x": None})))
    assert "x is absent; needed: x given" in str(explain(parse("GIVEN(x)"), {}))


def test_in_columns_a_null_is_absence() -> None:
    """Arrow cannot tell them apart, and warnings say so."""
    table = pa.table({"x": [1, None], "items": [[{"x": 1}], [{"x": None}]]})

    answer = tocsin.match(SUBSCRIPTIONS, table, lists=True)

    assert answer.table.column("subscription").to_pylist() == [["given"], ["absent"]]
    assert "a null is the same as absence, so GIVEN(x) is the same as x IS NOT NULL" in str(answer.warnings)


def test_no_warning_where_nulls_are_told_apart() -> None:
    """A null that came is an attribute that came."""
    assert not tocsin.match({"id": 1, "where": "GIVEN(x)"}, [{"x": None}]).warnings
    assert not tocsin.match({"id": 1, "where": "NOT GIVEN(x)"}, [{"x": None}, {}]).warnings


def test_text_and_json_have_it(tmp_path: Path) -> None:
    """A saved folder keeps it, too."""
    tree = parse("NOT given(a.b) OR GIVEN(x)")
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    engine.save(tmp_path / "folder")

    assert to_text(tree) == "NOT GIVEN(a.b) OR GIVEN(x)"
    assert parse_any(to_json(tree)) == tree
    assert {match.subscription for match in tocsin.Engine.load(tmp_path / "folder").match({"x": None})} == {
        "given",
        "null",
    }
    with pytest.raises(tocsin.ExpressionError, match="GIVEN needs an attribute, not the number 3"):
        parse("GIVEN(3)")
