"""Correlations of Sigma: the examples of its specification, what they become, and what is refused."""

from __future__ import annotations

from random import Random
from textwrap import dedent
from typing import Any

import pytest

import tocsin
from tests.language.dialects.agreeing import refusal
from tests.language.dialects.sigma_correlation_examples import EXAMPLES, Example
from tests.language.over_time_conditions import holding
from tests.naive.sigma_correlations import Event, hits
from tocsin.language import parse
from tocsin.language.dialects import DIALECTS, converted, read_rule
from tocsin.language.operators.over_time import with_key

pytest.importorskip("sigma", reason="pySigma reads the rules; pip install 'tocsin[sigma]'")
READ = {name: one for name, one in EXAMPLES.items() if one.becomes}


def text_of(example: Example) -> str:
    """The documents of an example as one YAML stream."""
    return "\n---\n".join(dedent(one) for one in example.documents)


@pytest.mark.parametrize("name", READ)
def test_examples_become_conditions(name: str) -> None:
    """As text, and as the fields of a subscription, whose `by` is the key."""
    text, example = text_of(EXAMPLES[name]), EXAMPLES[name]

    assert tocsin.convert(text, from_="sigma") == example.becomes
    fields = converted(text, from_="sigma")
    assert with_key(parse(fields["where"]), fields["by"]) == parse(example.becomes)


@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if one.refused])
def test_examples_that_cannot_be_said_are_refused(name: str) -> None:
    """A sentence says which part."""
    assert EXAMPLES[name].refused in refusal(text_of(EXAMPLES[name]), "sigma")


@pytest.mark.parametrize("name", READ)
def test_examples_hold_where_the_specification_says(name: str) -> None:
    """The condition is TRUE at the events that a naive reading finds, which are some and not all."""
    example, random = EXAMPLES[name], Random(3)
    documents = list(DIALECTS["sigma"].documents(text_of(example)))
    events, second = [], 0
    for _ in range(350):
        second += random.randint(0, example.pause_s)
        drawn = {key: random.choice(values) for key, values in example.values.items()}
        events.append(Event(second, {key: value for key, value in drawn.items() if value is not None}))

    found = holding(parse(example.becomes), events)
    assert found == hits(documents[0], documents, events)
    assert 0 < len(found) < len(events) / 2


def rule(name: str, **correlation: Any) -> dict[str, Any]:
    """A correlation of rules a and b, which are beside it."""
    given = {"type": "temporal", "rules": ["a", "b"], "group-by": "u", "timespan": "5m", **correlation}
    rules = [{"name": one, "detection": {"s": {"T|cased": one}, "condition": "s"}} for one in "abc"]
    return {
        "name": name,
        "correlation": {key: value for key, value in given.items() if value is not None},
        "rules": rules,
    }


A, B = (f"SOME(T, element = '{one}')" for one in "ab")


@pytest.mark.parametrize(
    ("correlation", "condition"),
    [
        ({"condition": "a and b"}, f"COUNT({A}, 'PT5M') >= 1 AND COUNT({B}, 'PT5M') >= 1"),
        ({"condition": "a or b"}, f"COUNT({A}, 'PT5M') >= 1 OR COUNT({B}, 'PT5M') >= 1"),
        ({"condition": {"eq": 1}, "timespan": "2w"}, f"(COUNT({A}, 'P2W') >= 1 OR COUNT({B}, 'P2W') >= 1) AND "
         f"NOT (COUNT({A}, 'P2W') >= 1 AND COUNT({B}, 'P2W') >= 1)"),
        ({"type": "event_count", "condition": {"lt": 3}, "timespan": "1M"},
         f"COUNT({A} OR {B}, 'PT2629746S') < 3 AND COUNT({A} OR {B}, 'PT2629746S') >= 1"),
        ({"type": "value_count", "condition": {"field": ["v"], "eq": 2}}, f"COUNT_DISTINCT(v, {A} OR {B}, 'PT5M') = 2"),
        ({"type": "value_sum", "condition": {"field": "v", "gte": 1.5}}, f"SUM(v, {A} OR {B}, 'PT5M') >= 1.5"),
    ],
)  # fmt: skip
def test_conditions(correlation: dict[str, Any], condition: str) -> None:
    """A correlation holds at an event of one of its rules."""
    told = tocsin.convert(rule("c", **correlation), from_="sigma")

    assert parse(told) == parse(f"BY(u, ({A} OR {B}) AND ({condition}))")


def test_an_alias_of_one_field_is_this_field() -> None:
    """In `group-by` as in `field`; a rule without an entry has the alias itself as a field."""
    told = rule("c", **{"group-by": ["who"], "aliases": {"who": {"a": "user", "b": "user"}}})
    assert tocsin.convert(told, from_="sigma").startswith("BY(user, ")

    by_id = rule("c", **{"rules": ["7", "b"], "group-by": ["who"], "aliases": {"who": {"a": "user", "b": "user"}}})
    by_id["rules"][0]["id"] = 7
    assert tocsin.convert(by_id, from_="sigma").startswith("BY(user, ")

    half = rule("c", **{"group-by": ["who"], "aliases": {"who": {"a": "user"}}})
    assert "an alias for several fields" in refusal(half, "sigma")


@pytest.mark.parametrize(
    ("correlation", "reason"),
    [
        ({"group-by": None}, "at correlation.group-by: correlation without group-by of Sigma is not supported"),
        ({"timespan": "5x"}, "at correlation: Timespan '5x' is invalid"),
        ({"timespan": None}, "without timespan"),
        ({"rules": ["a", "d"]}, "at correlation.rules.d: no rules have this name or id"),
        ({"rules": []}, "at correlation: the correlation names no rules"),
        ({"rules": ["a", "a"]}, "the rule 'a' stands twice in rules"),
        ({"rules": ["a", "c0"]}, "at correlation.rules.c0.correlation.rules.c0: the correlation refers to itself"),
        ({"condition": {"gte": 3}}, "at correlation.condition: the correlation has 2 rules, of which no number"),
        ({"condition": "a and not b"}, "not in the condition of a correlation of Sigma is not supported"),
        ({"condition": "a and c"}, "not referenced in extended condition"),
        ({"condition": {"gte": "many"}}, "no valid Sigma correlation condition count"),
        ({"type": "temporal_ordered", "condition": {"gte": 1}}, "temporal_ordered of some of its rules"),
        ({"type": "temporal_ordered", "condition": "a or b"}, "or, not in the condition of temporal_ordered"),
        ({"type": "value_count", "condition": {"gte": 3}}, "without field reference"),
        ({"type": "value_count", "condition": {"gte": 3, "field": ["v", "w"]}}, "several names in field"),
        ({"type": "value_percentile", "condition": {"gte": 3, "field": "v", "percentile": 0}}, "from 0 to 100, not 0"),
        ({"type": "often"}, "'often' is no valid Sigma correlation type"),
    ],
)
def test_refusals_name_the_place(correlation: dict[str, Any], reason: str) -> None:
    """And what of the correlation it is."""
    whole = rule("c", **correlation)
    circle = {"name": "c0", "correlation": {**rule("c0", rules=["c0"])["correlation"]}}
    whole["rules"].append(circle)

    assert reason in refusal(whole, "sigma")


def test_two_rules_of_a_name_are_not_one() -> None:
    """Which of them is meant is not known."""
    whole = rule("c")
    whole["rules"].append({"name": "a", "detection": {"s": {"T": "x"}, "condition": "s"}})

    assert "at correlation.rules.a: 2 rules have this name or id" in refusal(whole, "sigma")


def test_functions_nest_up_to_a_depth() -> None:
    """Each correlation of a correlation is one function more."""
    documents = [rule("c0", type="event_count", rules="a", condition={"gte": 2})]
    for number in range(8):
        one = rule(f"c{number + 1}", type="event_count", rules=f"c{number}", condition={"gte": 2})
        documents.append({key: value for key, value in one.items() if key != "rules"})
    whole = {**documents[-1], "rules": [*documents[:-1], *documents[0]["rules"]]}

    assert "nest more than 8 deep" in refusal(whole, "sigma")
    assert not refusal({**documents[-2], "rules": whole["rules"]}, "sigma")


def test_a_subscription_has_the_rule_as_it_was_written() -> None:
    """With the documents that it refers to, so that a saved engine reads it again."""
    text = text_of(EXAMPLES["many failed logins"])
    engine = tocsin.Engine()
    engine.subscribe("s", text, language="sigma")

    (record,) = engine.subscriptions()
    assert record["language"] == "sigma" and record["where"]["rules"][0]["name"] == "failed_login"
    assert read_rule(record["where"], "sigma").tree == parse(EXAMPLES["many failed logins"].becomes)
