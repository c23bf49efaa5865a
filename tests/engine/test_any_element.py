"""`ANY(items, condition)`: some element of a list fulfils a condition, its fields together; as the oracle has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive import match as naive
from tests.naive.flatten import flatten
from tests.naive.ranges import can_be
from tests.naive.relaxed import relaxed
from tests.naive.truth import truth
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.language.operators.any_element import MAX_LISTS
from tocsin.language.templates import Templates
from tocsin.model.expression import AnyElement, Attribute, Expression, Not
from tocsin.model.readings import reading_of

ITEMS = [
    {"items": [{"price": 5, "stock": 0}, {"price": 1, "stock": 3}]},
    {"items": [{"price": 1}, {"price": 5, "stock": 1}]},
    {"items": []},
    {"price": 5, "stock": 1},
    {"items": [{"parts": [{"n": 2}, {"n": 1}]}, None, 7]},
    {"items": 7},
    {"items": {"price": 5, "stock": 1}},
    {"tags": ["new", "old"], "order": {"items": [{"price": 9}]}},
]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("ANY(items, price > 3 AND stock > 0)", [1]),
        ("ANY(items, price > 3) AND ANY(items, stock > 0)", [0, 1]),
        ("NOT ANY(items, price > 3 AND stock > 0)", [0, 2]),
        ("ANY(items, price > 3) IS NULL", [3, 4, 5, 6, 7]),
        ("ANY(items, price > 3 AND stock > 0) = FALSE", [0, 2]),
        ("ANY(items, ANY(parts, n = 1))", [4]),
        ("ANY(items, element = 7)", [4]),
        ("ANY(items, TRUE)", [0, 1, 4]),
        ("ANY(tags, element LIKE 'n%')", [7]),
        ("ANY(order.items, price = 9)", [7]),
        ("ANY(items, price IS NULL)", [4]),
        ("any(items, price > 3 and stock > 0) or tags is not null", [1, 7]),
    ],
)
def test_what_it_means(where: str, rows: list[int]) -> None:
    """The elements' fields together; FALSE of an empty list, UNKNOWN of what is no list."""
    answer = tocsin.match([{"id": "x", "where": where}], ITEMS)

    assert answer.table["event"].to_pylist() == rows
    assert naive.match([("x", tocsin.parse(where))], ITEMS) == [(row, "x") for row in rows]


trees = st.lists(own.expressions_about_elements(), min_size=1, max_size=6)
events = st.lists(own.with_lists(own.json_events()), max_size=6)


def records(expressions: list[Expression]) -> list[dict[str, Any]]:
    return [
        {"id": number, "where": tocsin.to_json(tree) if number % 2 else tocsin.to_text(tree)}
        for number, tree in enumerate(expressions)
    ]


def pairs(answer: tocsin.Answer) -> list[tuple[int, int]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


@settings(max_examples=settings.default.max_examples)
@given(expressions=trees, batch=events)
def test_matches_are_the_oracles(expressions: list[Expression], batch: list[dict[str, Any]]) -> None:
    """From objects and JSON lines alike, by every question that an expression can be."""
    batch = [*batch, {}]
    expected = naive.match(list(enumerate(expressions)), batch)

    assert pairs(tocsin.match(records(expressions), batch)) == expected


@given(expressions=trees, batch=events)
def test_json_lines_say_the_same(expressions: list[Expression], batch: list[dict[str, Any]], tmp_path_factory) -> None:
    """Lines with a list whose elements are asked for go the long way, and nothing is lost there."""
    batch = [*batch, {}]
    path = tmp_path_factory.mktemp("lines") / "events.jsonl"
    path.write_text("".join(own.json_text(event) + "\n" for event in batch), encoding="utf-8")

    assert pairs(tocsin.match(records(expressions), path)) == naive.match(list(enumerate(expressions)), batch)


@settings(max_examples=max(10, settings.default.max_examples // 2))
@given(expressions=trees, batch=events, index=st.sampled_from(["access", "scan"]))
def test_indexes_on_disk_say_the_same(expressions, batch, index, tmp_path_factory) -> None:
    """Compiled, saved, opened again and merged."""
    batch = [*batch, {}]
    folder = tmp_path_factory.mktemp("index") / "x"
    held = records(expressions)
    engine = tocsin.Engine(index=index)
    engine.subscribe_many(held[::2])
    engine.merge()
    engine.subscribe_many(held[1::2])
    engine.save(folder)

    expected = naive.match(list(enumerate(expressions)), batch)
    assert pairs(tocsin.Engine.load(folder).match_batch(batch)) == expected
    opened = tocsin.Engine.load(folder)
    opened.merge()
    assert pairs(opened.match_batch(batch)) == expected


@pytest.mark.parametrize("index", ["opindex", "k_index", "be_tree"])
def test_indexes_of_conjunctions_hold_it(index: str) -> None:
    """A condition about elements is one predicate to an index of conjunctions."""
    where = {"a": "ANY(items, price > 3 AND stock > 0)", "b": "ANY(items, price > 3) AND ANY(items, stock > 0)"}
    held = [{"id": name, "where": text} for name, text in where.items()]

    assert tocsin.match(held, ITEMS, index=index).table == tocsin.match(held, ITEMS).table


SHAPE = pa.struct([("price", pa.float64()), ("stock", pa.int64()), ("parts", pa.list_(pa.struct([("n", pa.int32())])))])
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "items": st.lists(
                st.one_of(
                    st.none(),
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "price": st.sampled_from([1.0, 4.0, None]),
                            "stock": st.sampled_from([0, 1]),
                            "parts": st.lists(st.fixed_dictionaries({"n": st.sampled_from([1, 2])}), max_size=2),
                        },
                    ),
                ),
                max_size=3,
            ),
            "tags": st.lists(st.sampled_from(["new", "old"]), max_size=3),
            "n": st.sampled_from([1, 2]),
        },
    ),
    min_size=1,
    max_size=8,
)
ASKED = [
    "ANY(items, price > 3 AND stock > 0)",
    "NOT ANY(items, price > 3 AND stock > 0)",
    "ANY(items, ANY(parts, n = 1)) OR n = 2",
    "ANY(items, price IS NULL) AND NOT ANY(items, ANY(parts, n = 2))",
    "ANY(tags, element = 'new') AND NOT A_CONTAINS(tags, ('old'))",
    "ANY(items, price > 3) IS NULL",
    "ANY(o.items, stock = 1)",
]


@given(rows=ROWS, kind=st.sampled_from([pa.list_, pa.large_list]))
def test_tables_say_the_same_as_objects(rows: list[dict[str, Any]], kind: Any) -> None:
    """Lists of structs and of strings as columns, within a struct, and with nulls."""
    held = [{"id": number, "where": text} for number, text in enumerate(ASKED)]
    rows = [{**row, "o": {"items": row.get("items")}} for row in rows]
    types = {"items": kind(SHAPE), "tags": kind(pa.string()), "n": pa.int64(), "o": pa.struct([("items", kind(SHAPE))])}
    columns = {name: pa.array([row.get(name) for row in rows], of_type) for name, of_type in types.items()}

    expected = naive.match([(number, tocsin.parse(text)) for number, text in enumerate(ASKED)], rows)
    assert pairs(tocsin.match(held, rows)) == expected
    assert pairs(tocsin.match(held, pa.table(columns))) == expected
    as_maps = pa.array([[("items", row.get("items"))] for row in rows], pa.map_(pa.string(), kind(SHAPE)))
    assert pairs(tocsin.match(held, pa.table({**columns, "o": as_maps}))) == expected


@given(tree=own.expressions_about_elements(), event=own.with_lists(own.python_events()))
def test_explain_agrees_with_the_oracle(tree: Expression, event: dict[str, Any]) -> None:
    """Its truth, and that it can be told at all."""
    explained = tocsin.explain(tocsin.to_text(tree), event)

    assert explained.matched == (True in can_be(truth(tree, flatten(event)[0])))
    assert str(explained)


@given(tree=own.expressions_about_elements())
def test_text_and_json_lead_back(tree: Expression) -> None:
    """Both forms give the same tree again."""
    assert tocsin.parse(tocsin.to_text(tree)) == tree
    assert tocsin.parse_json(json.loads(json.dumps(tocsin.to_json(tree)))) == tree


@given(tree=own.expressions_about_elements())
def test_a_template_has_what_it_asks_of_elements(tree: Expression) -> None:
    """Texts that differ in names and constants, those about elements too, are parsed once."""
    instance = Templates().instance(tocsin.to_text(tree))

    assert instance is None or instance.tree() == tree


def test_most_texts_about_elements_have_a_template() -> None:
    texts = ["ANY(items, price > 3 AND color = 'red') AND n = 1", "ANY(parts, size > -4 AND kind = 'it''s') AND m = 2"]
    templates = Templates()
    first, second = (templates.instance(text) for text in texts)

    assert first is not None and second is not None and first.template is second.template
    assert second.tree() == tocsin.parse(texts[1])


@given(tree=own.expressions_about_elements(3), negated=st.booleans())
def test_what_elements_are_read_for_is_known(tree: Expression, negated: bool) -> None:
    """The names that a condition about elements is compiled on, and no others, are said to be read of elements."""
    asked = AnyElement(Attribute("list"), tree)
    readings = map(reading_of, compile_expressions([Not(asked) if negated else asked]).attributes)
    compiled = compile_expressions([tree, Not(tree)] if negated else [tree]).attributes

    assert {one.rest for one in readings if one.is_of_elements} == set(compiled)


@given(expressions=trees, batch=events, k=st.integers(1, 4))
def test_relaxed_rankings_are_the_oracles(expressions: list[Expression], batch: list[dict[str, Any]], k: int) -> None:
    """What is asked of a list is a dimension, named as the list."""
    batch = [*batch, {}]
    held = [(number, tree, {}) for number, tree in enumerate(expressions)]

    answer = tocsin.match(records(expressions), batch, ranking=tocsin.Relaxed(k))

    assert [tuple(row.values()) for row in answer.table.to_pylist()] == relaxed(held, batch, k)


def test_what_came_is_told() -> None:
    """The element that fulfils it, or the nearest to it."""
    told = str(tocsin.explain("ANY(items, price > 3 AND stock > 0)", ITEMS[0]))

    assert "items has 2 elements; needed: an element of items with price > 3 AND stock > 0" in told
    assert "items[0] is nearest to it:" in told and "fails    stock > 0: stock = 0" in told
    assert "items[1] fulfils it:" in str(tocsin.explain("ANY(items, price > 3 AND stock > 0)", ITEMS[1]))


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("ANY(items)", "ANY takes two arguments"),
        ("ANY(items, 3)", "ANY takes a condition for elements; the number 3 is not a condition"),
        ("ANY('items', price > 3)", "ANY needs the attribute of a list, not the string 'items'"),
        ("ANY(a, " * (MAX_LISTS + 1) + "x" + ")" * (MAX_LISTS + 1), f"nests more than {MAX_LISTS} deep"),
        ("ANY(items, price > 3", "unclosed"),
    ],
)
def test_what_it_refuses(where: str, reason: str) -> None:
    """With a reason in words."""
    with pytest.raises(tocsin.ExpressionError, match=reason):
        tocsin.parse(where)


def test_conditions_come_while_events_do() -> None:
    """Each is indexed once it is asked, however many came one by one."""
    engine = tocsin.Engine()
    for number in range(70):
        engine.subscribe(number, f"ANY(items, price = {number})")
        hit = engine.match({"items": [{"price": number}, {"price": number + 1}]})
        assert [one.subscription for one in hit] == [number]
    everything = {"items": [{"price": number} for number in range(70)]}
    assert len(engine.match(everything)) == 70


def test_a_bad_element_costs_itself_alone(tmp_path: Path) -> None:
    """An element that gives an attribute twice is nothing that a condition is TRUE or FALSE of."""
    held = [{"id": "some", "where": "ANY(tags, ANY(element, n = 1))"}, {"id": "none", "where": "NOT ANY(tags, n = 1)"}]
    bad = {"tags": [[{"a": {"b": 1}, "a.b": 1}], [{"n": 1}]]}

    answer = tocsin.match(held, [bad, {"tags": []}])

    assert pairs(answer) == [(0, "some"), (1, "none")]
