"""Clauses mean what the expression means, under every assignment of TRUE, FALSE and UNKNOWN to its leaves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

import tocsin
from tests import strategies as own
from tests.index.asking import batch, compiled
from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.boolean.scan import Scan
from tocsin.index.normal_forms.normal_forms import Clauses, conjunctive, disjunctive

_EVENTS = [dict(zip("abc", values, strict=True)) for values in itertools.product([None, 0, 1, "x"], repeat=3)]


def _of(clauses: Clauses, number: int) -> list[set[int]]:
    places = [c for c, owner in enumerate(clauses.owners.tolist()) if owner == number]
    return [set(clauses.literals[clauses.starts[c] : clauses.starts[c + 1]].tolist()) for c in places]


def _literal_found(expressions: CompiledExpressions) -> dict[int, set[int]]:
    """For each literal, the events of `_EVENTS` where it holds: by `scan`, of programs of one literal."""
    arrays = expressions.arrays
    count = 2 * len(arrays.leaf_kinds)
    alone = arrays._replace(
        program_starts=frozen(np.arange(count + 1), np.int64), program=frozen(np.arange(count), np.int32)
    )
    each = CompiledExpressions(
        alone, expressions.attributes, expressions.vocabulary, expressions.transforms, expressions.regexes
    )
    found = Scan.build(each).match(batch(each, _EVENTS))
    held: dict[int, set[int]] = {literal: set() for literal in range(count)}
    for event, literal in zip(found.events.tolist(), found.subscriptions.tolist(), strict=True):
        held[literal].add(event)
    return held


TEXTS = [
    "a = 1",
    "a = 1 AND b = 1",
    "a = 1 OR b = 1",
    "(a = 1 OR b = 1) AND (b = 1 OR c = 1)",
    "a = 1 AND (b = 1 OR (c = 1 AND a < 2)) OR NOT (b = 'x' OR c IS NULL)",
    "NOT (a = 1 AND b = 1)",
    "a = 1 OR TRUE",
    "a = 1 AND FALSE",
    "TRUE",
    "FALSE",
    "a = 1 AND (FALSE OR b = 1)",
    "a = 1 OR (a = 1 AND b = 1)",
    "a IN (0, 1, 'x') AND NOT (b IN (0, 'x'))",
    "a = 1 AND a = 1",
]


def _assert_alike(expressions: CompiledExpressions) -> None:
    held = _literal_found(expressions)
    truth = Scan.build(expressions).match(batch(expressions, _EVENTS))
    expected = set(zip(truth.events.tolist(), truth.subscriptions.tolist(), strict=True))
    everyone = set(range(len(_EVENTS)))
    forms = disjunctive(expressions), conjunctive(expressions)
    for number in range(len(expressions)):
        any_of = [set.intersection(everyone, *(held[one] for one in clause)) for clause in _of(forms[0], number)]
        all_of = [set().union(*(held[one] for one in clause)) for clause in _of(forms[1], number)]
        events = {event for event, subscription in expected if subscription == number}
        assert set().union(*any_of) == events
        assert set.intersection(everyone, *all_of) == events


def test_clauses_mean_the_same() -> None:
    _assert_alike(compiled(TEXTS))


@given(own.expressions(max_depth=4))
def test_any_expression(expression: tocsin.Expression) -> None:
    try:
        _assert_alike(compile_expressions([expression]))
    except tocsin.UnsuitableIndex as error:
        assert "more than 1024 clauses" in str(error)


def test_owners_ascend_and_clauses_are_minimal() -> None:
    clauses = disjunctive(compiled(TEXTS))
    assert clauses.owners.tolist() == sorted(clauses.owners.tolist())
    assert len(_of(clauses, TEXTS.index("a = 1 OR (a = 1 AND b = 1)"))) == 1
    assert _of(clauses, TEXTS.index("FALSE")) == []
    assert _of(clauses, TEXTS.index("TRUE")) == [set()]
    assert _of(conjunctive(compiled(TEXTS)), TEXTS.index("FALSE")) == [set()]
    assert _of(conjunctive(compiled(TEXTS)), TEXTS.index("TRUE")) == []


def test_what_explodes_is_refused() -> None:
    """2**12 clauses one way, 12 the other."""
    text = " AND ".join(f"(a = {k} OR b = {k})" for k in range(12))
    expressions = compiled(["a = 1", text])
    with pytest.raises(
        tocsin.UnsuitableIndex, match="subscription number 1: its disjunctive normal form has more"
    ) as caught:
        disjunctive(expressions)
    assert caught.value.number == 1
    assert len(conjunctive(expressions).owners) == 13
