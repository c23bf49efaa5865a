"""The bulk forms are what they say: conjunctions of comparisons, and events as lists of names and values."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin

PREDICATE = st.fixed_dictionaries(
    {
        "attribute": st.sampled_from(["a", "b", "odd name"]),
        "op": st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        "value": st.sampled_from([0.0, 1.0, -2.5, 1e300]),
    }
)
EVENT = st.dictionaries(st.sampled_from(["a", "b", "odd name", "c"]), st.sampled_from([0.0, 1.0, 2.0, -2.5, 1e300]))


def conjunctions(lists: list[list[dict]]) -> tocsin.Conjunctions:
    kind = pa.list_(pa.struct([("attribute", pa.string()), ("op", pa.string()), ("value", pa.float64())]))
    return tocsin.Conjunctions(
        pa.table({"id": [f"s{i:02d}" for i in range(len(lists))], "predicates": pa.array(lists, kind)})
    )


def in_words(predicates: list[dict]) -> str:
    return " AND ".join(f'"{p["attribute"]}" {p["op"]} {p["value"]!r}' for p in predicates)


@given(st.lists(st.lists(PREDICATE, min_size=1, max_size=4), max_size=6), st.lists(EVENT, max_size=6))
def test_bulk_forms_answer_like_text_and_objects(lists, events):
    """A conjunction matches as its text does, a sparse event as its object."""
    texts = [{"id": f"s{i:02d}", "where": in_words(predicates)} for i, predicates in enumerate(lists)]
    names = pa.array([list(e) for e in events], pa.list_(pa.string()))
    values = pa.array([list(e.values()) for e in events], pa.list_(pa.float64()))

    answer = tocsin.match(conjunctions(lists), tocsin.SparseEvents(pa.table({"names": names, "values": values})))

    assert answer.table.to_pylist() == tocsin.match(texts, events).table.to_pylist()
    assert answer.errors == []


@pytest.mark.parametrize(
    "predicate",
    [
        {"attribute": "a", "op": "==", "value": 1.0},
        {"attribute": "", "op": "=", "value": 1.0},
        {"attribute": None, "op": "=", "value": 1.0},
        {"attribute": "a", "op": "=", "value": float("nan")},
        {"attribute": "a", "op": "=", "value": float("inf")},
        {"attribute": "a", "op": "=", "value": None},
    ],
)
def test_a_bad_predicate_costs_its_subscription_alone(predicate):
    """The reject names the row and the field; the other subscription matches."""
    good = {"attribute": "a", "op": "=", "value": 1.0}

    answer = tocsin.match(conjunctions([[good, predicate], [good]]), {"a": 1})

    assert answer.table["subscription"].to_pylist() == ["s01"]
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(0, "s00", "predicates")]


@pytest.mark.parametrize(
    ("make", "needs"),
    [
        (lambda: tocsin.Conjunctions(pa.table({"id": ["a"]})), "predicates"),
        (lambda: tocsin.Conjunctions(pa.table({"id": ["a"], "predicates": ["x"]})), "list of structs"),
        (lambda: tocsin.SparseEvents(pa.table({"names": [["a"]]})), "values"),
        (lambda: tocsin.SparseEvents(pa.table({"names": ["a"], "values": [[1.0]]})), "list of strings"),
        (lambda: tocsin.SparseEvents({"names": []}), "Arrow table"),
        (
            lambda: tocsin.match(tocsin.SparseEvents(pa.table({"names": [["a"]], "values": [[1.0]]})), []),
            "Conjunctions",
        ),
    ],
)
def test_tables_of_another_shape_are_refused_in_words(make, needs):
    """The message says what is needed."""
    with pytest.raises(tocsin.InvalidInput, match=needs):
        make()
