"""Rules with thousands of values: one condition for each field, written once, that means what its values mean."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tocsin
from tocsin.language.dialects.dialect import (
    VALUE,
    Wild,
    alternatives,
    any_of,
    equal,
    equal_ignoring_case,
    like_ignoring_case,
)
from tocsin.language.dialects.sigma import detections
from tocsin.language.dialects.table import read_rule
from tocsin.language.evaluate import evaluate
from tocsin.language.rules import measure
from tocsin.model.expression import Comparison, Constant, Expression

pytest.importorskip("sigma")


def _rule(line: dict[str, Any]) -> dict[str, Any]:
    return {"title": "t", "detection": {"s": line, "condition": "s"}}


def test_texts_of_a_field_are_one_set() -> None:
    rule = _rule({"Hash": ["a", "b", "c*", 7, "true"]})

    assert tocsin.convert(rule, from_="sigma") == (
        "SOME(Hash, CASEI(element) IN (CASEI('a'), CASEI('b'), CASEI('true')) OR element = 7 OR element = '7' "
        "OR element = TRUE OR CASEI(element) LIKE CASEI('c%'))"
    )


@pytest.mark.parametrize("modifier", ["", "|contains", "|contains|all", "|endswith|cased"])
def test_each_line_is_written_once(modifier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for a line is linear in its values."""
    values, plain = [f"value {number}" for number in range(300)], []
    monkeypatch.setattr(detections, "_plain", lambda value: plain.append(value) or str(value))

    read = read_rule(_rule({f"Hash{modifier}": values}), "sigma")

    assert len(plain) == 300
    assert all(written.startswith(f'Hash{modifier}: ["value 0", ') for _, written in read.written.values())


@pytest.mark.parametrize("field", ["Hash", "Hash|contains"])
def test_eight_thousand_values_are_taken(field: str) -> None:
    engine = tocsin.Engine()
    engine.subscribe("s", _rule({field: [f"value{number}x" for number in range(8_000)]}), language="sigma")

    assert [one.subscription for one in engine.match({"Hash": "VALUE7999X"})] == ["s"]
    assert [one.subscription for one in engine.match({"Hash": ["none", "value0x"]})] == ["s"]
    assert not engine.match({"Hash": "value8000x"})


def test_keywords_are_one_condition() -> None:
    rule = {
        "title": "t",
        "detection": {"keywords": [f"word{number}x" for number in range(400)], "condition": "keywords"},
    }
    engine = tocsin.Engine()
    engine.subscribe("s", rule, language="sigma")

    assert tocsin.convert(rule, from_="sigma").count("ANY_ATTRIBUTE") == 1
    assert engine.match({"a": {"b": "a Word7x"}}) and engine.explain("s", {"a": {"b": "a Word7x"}}).matched
    assert not engine.match({"a": {"b": "a word400x"}})


def test_a_set_has_a_node_for_each_value_at_most() -> None:
    _, nodes = measure(alternatives([equal([Constant(f"v{number}")]) for number in range(1_000)]))

    assert nodes == 1_002


@pytest.mark.parametrize("seed", range(50))
def test_alternatives_mean_what_their_or_means(seed: int) -> None:
    """Of every value: of strings, numbers, booleans, and of nothing."""
    dice = random.Random(seed)
    constants = [Constant(one) for one in ("a", "B", "b", 1.0, 2.0, True, False)]
    parts: list[Expression] = [
        dice.choice(
            (
                equal(dice.sample(constants, 3)),
                equal([dice.choice(constants)]),
                equal_ignoring_case(VALUE, dice.sample(["a", "b", "c"], 2)),
                like_ignoring_case(VALUE, "a", Wild.RUN),
                Comparison(">", VALUE, Constant(1.0)),
            )
        )
        for _ in range(dice.randint(1, 8))
    ]
    for value in ("a", "A", "b", "B", "ab", "", 0.0, 1.0, 2.0, True, False):
        assert evaluate(alternatives(parts), {"element": value}) is evaluate(any_of(parts), {"element": value})
    assert evaluate(alternatives(parts), {}) is evaluate(any_of(parts), {})
