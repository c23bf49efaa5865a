"""Named parts: which of them held, and which elements of a list made them hold."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tocsin.engine.loading import read_part
from tocsin.language.operators.named import parts_in
from tocsin.model.elements import values_for

PARTS = [
    "price < 5",
    "color = 'red'",
    "ANY(items, price > 3)",
    "SOME(tags, element = 'x')",
    "NOT stock > 2",
    "a IS NULL",
]


def event(rng: random.Random) -> dict[str, Any]:
    return {
        "price": rng.randrange(10),
        "color": rng.choice(["red", "blue", 3]),
        "items": [{"price": rng.randrange(6)} for _ in range(rng.randrange(4))],
        "tags": rng.choice(["x", ["y", "x"], [], None]),
        **({"stock": rng.randrange(4)} if rng.random() < 0.7 else {}),
    }


def condition(rng: random.Random) -> str:
    one, two, three = (f"NAMED('n{n}', {PARTS[n]})" for n in rng.sample(range(len(PARTS)), 3))
    return rng.choice([f"{one} OR {two} AND {three}", f"NOT ({one} AND {two}) OR {three}", f"{one}", "price >= 0"])


def expected(text: str, event: dict[str, Any]) -> dict[str, list[int]]:
    """The parts that hold, and the elements by the evaluation of one event."""
    tree = tocsin.parse(text)
    held = {}
    for name, part in parts_in(tree):
        if tocsin.explain(tocsin.to_text(part), event).matched:
            held[name] = _elements(name, event)
    return held


def _elements(name: str, event: dict[str, Any]) -> list[int]:
    if name == "n2":
        return [place for place, item in enumerate(event["items"]) if item["price"] > 3]
    if name == "n3" and isinstance(event["tags"], list):
        return [place for place, tag in enumerate(event["tags"]) if tag == "x"]
    return []


@pytest.mark.parametrize("seed", range(3))
def test_named_parts_are_those_that_hold(seed: int) -> None:
    """One event, many events, lists and rankings tell the same parts, from segments and from recent subscriptions."""
    rng = random.Random(seed)
    texts = {number: condition(rng) for number in range(60)}
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": number, "where": texts[number]} for number in range(50)])
    for number in range(50, 60):
        engine.subscribe(number, texts[number])
    events = [event(rng) for _ in range(40)]
    rows = engine.match_batch(events, named=True).table.to_pylist()
    assert len(rows) == len(engine.match_batch(events).table)
    for row in rows:
        told = {part["name"]: part["elements"] for part in row["named"]}
        assert told == expected(texts[row["subscription"]], events[row["event"]])
    for number, one in enumerate(events):
        mine = [row for row in rows if row["event"] == number]
        found = engine.match(one, named=True)
        assert [match.subscription for match in found] == [row["subscription"] for row in mine]
        assert [match.named for match in found] == [{p["name"]: p["elements"] for p in row["named"]} for row in mine]
    lists = engine.match_batch(events, named=True, lists=True).table
    assert [row for one in lists["named"].to_pylist() for row in one] == [row["named"] for row in rows]
    top = engine.match_batch(events, named=True, ranking=tocsin.Top(2)).table.to_pylist()
    by_match = {(row["event"], row["subscription"]): row["named"] for row in rows}
    assert all(row["named"] == by_match[row["event"], row["subscription"]] for row in top)


@pytest.mark.parametrize("is_refused", [False, True])
def test_parts_hold_though_the_whole_does_not(is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Relaxed. Parts that cannot be indexed within the whole condition, as one that is too deep, are alone."""
    refused = list[int]()

    def refusing(records: list[dict[str, Any]]) -> Any:
        within = [one["id"] for one in records if one["where"].startswith("(") and one["id"] % 3 == 0]
        refused.extend(within)
        return read_part([{**one, "where": "n >"} if one["id"] in within else one for one in records])

    if is_refused:
        monkeypatch.setattr("tocsin.engine.named.read_part", refusing)
    engine = tocsin.Engine()
    engine.subscribe_many(
        {"id": number, "where": f"NAMED('n', n >= {number}) AND NAMED('m', m >= {number})"} for number in range(100)
    )
    events = [{"n": 90, "m": 80}, {"n": 10, "m": 70}]
    for ranking in (None, tocsin.Relaxed(100)):
        table = engine.match_batch(events, named=True, ranking=ranking).table
        assert len(table) == (81 + 11 if ranking is None else 91 + 71)
        for row in table.to_pylist():
            one = events[row["event"]]
            assert [part["name"] for part in row["named"]] == [
                name for name in ("n", "m") if one[name] >= row["subscription"]
            ]
    assert bool(refused) == is_refused


def test_names_in_a_record() -> None:
    """A record may give its named conditions beside `where`, which uses their names."""
    engine = tocsin.Engine()
    named = {"cheap": "price < 5", "red": {"op": "=", "args": [{"property": "color"}, "red"]}}
    report = engine.subscribe_many(
        [
            {"id": "a", "where": "cheap OR NOT red", "named": named},
            {"id": "b", "named": named},
            {"id": "c", "where": "cheap", "named": named},
            {"id": "d", "where": "cheap", "named": {"cheap": "price <"}},
            {"id": "e", "where": "cheap", "named": ["cheap"]},
        ]
    )
    assert [(error.id, error.field) for error in report.errors] == [("c", "named"), ("d", "named"), ("e", "named")]
    assert "does not use the name 'red'" in report.errors[0].reason
    found = engine.match({"price": 3, "color": "red"}, named=True)
    assert [(one.subscription, one.named) for one in found] == [
        ("a", {"cheap": [], "red": []}),
        ("b", {"cheap": [], "red": []}),
    ]
    assert engine.get("a")["where"] == "NAMED('cheap', price < 5) OR NOT NAMED('red', color = 'red')"


def test_names_in_columns() -> None:
    """A struct, a map and the text of a CSV say the same."""
    conditions = [{"cheap": "price < 5", "red": None}, {"red": "color = 'red'", "cheap": None}]
    pairs = [[(name, text) for name, text in one.items() if text] for one in conditions]
    for named in (pa.array(conditions), pa.array(pairs, pa.map_(pa.string(), pa.string()))):
        engine = tocsin.Engine()
        report = engine.subscribe_many(pa.table({"id": ["a", "b"], "named": named}))
        assert report.accepted == 2, report
        assert [engine.get(one)["where"] for one in "ab"] == [
            "NAMED('cheap', price < 5)",
            "NAMED('red', color = 'red')",
        ]


def test_elasticsearch_names_its_queries() -> None:
    engine = tocsin.Engine()
    should = [{"term": {"a": {"value": 1, "_name": "one"}}}, {"exists": {"field": "b", "_name": "any b"}}]
    engine.subscribe("s", {"bool": {"should": should}}, language="elasticsearch")
    assert [one.named for one in engine.match({"b": [7]}, named=True)] == [{"any b": [0]}]
    assert "'any b': bool.should[1].exists: " in str(engine.explain("s", {"b": 7}))


def test_who_did_not_ask_is_told_how() -> None:
    engine = tocsin.Engine()
    engine.subscribe("s", "NAMED('one', a = 1)")
    (match,) = engine.match({"a": 1})
    with pytest.raises(AttributeError, match="named=True"):
        _ = match.named
    assert "named" not in engine.match_batch(pa.table({"a": [1]})).table.column_names
    assert values_for([tocsin.parse("a = 1")], {"a": 1}) == {"a": 1.0}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NAMED(a, b = 1)", "NAMED needs a name in single quotes"),
        ("NAMED('', b = 1)", "NAMED needs a name in single quotes that is not empty"),
        ("NAMED('a', 3)", "NAMED takes a condition"),
        ("ANY(items, NAMED('a', b = 1))", "NAMED cannot stand in ANY"),
        ("SOME(items, NAMED('a', b = 1))", "NAMED cannot stand in SOME"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(tocsin.ExpressionError, match=reason):
        tocsin.parse(text)
