"""A JSON object in which a key comes twice is refused, and the key is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tocsin

ASKED = [{"id": "s", "where": "price < 5 OR items.p = 1 OR seller.city = 'Oslo' OR A_CONTAINS(items.p, (1))"}]
TWICE = {
    '{"price": 1, "price": 9}': "price",
    '{"n": 1, "price": 1, "\\u0070rice": 9}': "price",
    '{"price": 1, "seller": {"city": "Oslo", "city": "Rome"}}': "city",
    '{"price": 1, "items": [{"p": 1, "p": 2}]}': "p",
    '{"price": 1, "other": 2, "other": 2}': "other",
    '{"price": 1, "other": {"a": {"b": 1}, "a": 2}}': "a",
    '{"price": 1, "other": [{"a": 1}, {"a": 1, "c": {"a": 1}, "a": 2}]}': "a",
    '{"price": 1, "items": [{"p": 1}, {"q": {"r": [{"s": 1, "s": 1}]}}]}': "s",
}


@pytest.mark.parametrize("text", TWICE)
def test_an_event_with_a_key_twice_is_refused(text: str, tmp_path: Path) -> None:
    """It costs itself alone: in lines, in an array, in a feature collection and in a file."""
    good = '{"price": 2}'
    file = tmp_path / "e.jsonl"
    file.write_text(f"{text}\n{good}\n")
    features = [f'{{"type": "Feature", "geometry": null, "properties": {one}}}' for one in (text, good)]
    collection = f'{{"type": "FeatureCollection", "features": [{", ".join(features)}]}}'
    for source in (f"{text}\n{good}\n".encode(), f"[{text}, {good}]".encode(), collection.encode(), file):
        answer = tocsin.match(ASKED, source)
        assert answer.table["event"].to_pylist() == [1]
        assert [(error.row, error.field) for error in answer.errors] == [(0, TWICE[text])]
        assert "comes twice in one object" in answer.errors[0].reason


SUBSCRIPTIONS = [
    '{"id": "a", "id": "b", "where": "TRUE"}',
    '{"id": "a", "where": "FALSE", "where": "TRUE"}',
    '{"id": "a", "where": "TRUE", "weights": {"x": 1, "x": 2}}',
    '{"id": "a", "where": "TRUE", "payload": {"to": 1, "to": 2}}',
    '{"id": "a", "where": {"op": "=", "op": "<", "args": [{"property": "x"}, 1]}}',
]


@pytest.mark.parametrize("text", SUBSCRIPTIONS)
def test_a_subscription_with_a_key_twice_is_refused(text: str) -> None:
    """In its record, its weights, its payload and its condition, in lines and in an array."""
    good = '{"id": "good", "where": "TRUE"}'
    for source in (f"{text}\n{good}\n", f"[{text}, {good}]"):
        engine = tocsin.Engine()
        report = engine.subscribe_many(source.encode())
        assert report.accepted == 1 and len(engine) == 1
        assert ["comes twice in one object" in error.reason for error in report.errors] == [True]


def test_an_expression_as_json_text_with_a_key_twice_is_refused() -> None:
    """`subscribe` names the key, too."""
    with pytest.raises(tocsin.RecordError, match="the key 'op' comes twice"):
        tocsin.Engine().subscribe("s", '{"op": "=", "op": "<", "args": [{"property": "x"}, 1]}')
    tocsin.Engine().subscribe("s", json.dumps({"op": "<", "args": [{"property": "x"}, 1]}))


def test_keys_of_several_objects_may_be_the_same() -> None:
    """Beside each other, within each other, and in lines with many keys."""
    many = ", ".join(f'"k{number}": {{"a": 1, "b": {{"a": 1}}}}' for number in range(3000))
    lines = [f'{{"price": 1, "a": 1, "other": [{{"a": 1}}, {{"a": {{"a": 1}}}}], "price2": 1, {many}}}'] * 2

    answer = tocsin.match(ASKED, "\n".join(lines).encode())

    assert (answer.table["event"].to_pylist(), answer.errors) == ([0, 1], [])
