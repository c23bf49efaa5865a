"""Functions of several events: how they are written, what they refuse, and who may ask for their values."""

from __future__ import annotations

import pytest

import tocsin
from tocsin.errors import ExpressionError, InvalidInput, RecordError
from tocsin.language import parse, parse_json, to_json, to_text
from tocsin.language.operators.over_time import depth_of, functions_in, key_of, term_of
from tocsin.model.expression import attributes

FAILED = "COUNT(type = 'login' AND ok = FALSE, 'PT10M')"

TEXTS = (
    f"{FAILED} >= 5",
    "COUNT_DISTINCT(card, amount > 3, 'P1D') > 2",
    "SUM(amount, type = 'payment', 'P1D') > 10000 OR AVG(amount, TRUE, 'PT1M') < MIN(amount, TRUE, 'PT1H')",
    "temperature - PREVIOUS(temperature) > 5 AND PREVIOUS(temperature, ok = TRUE) IS NOT NULL",
    "SINCE(type = 'heartbeat') >= DURATION('PT10M')",
    "type = 'upload' AND SINCE(type = 'login' AND SINCE(type = 'reset') <= 600) <= 600",
    "BY(host, \"user name\", MAX(amount, TRUE, 'PT5S') BETWEEN 1 AND 3)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_json_give_the_same_tree(text):
    tree = parse(text)

    assert to_text(tree) == text
    assert parse_json(to_json(tree)) == tree


def test_what_a_function_is_about_is_not_of_the_event():
    """The names inside are attributes of other events, so the event itself needs none of them."""
    tree = parse(f"{FAILED} >= 5 AND country = 'de'")

    assert attributes(tree) == ["country"]
    assert [term_of(one) for one in functions_in(tree)] == [
        ("COUNT", None, parse("type = 'login' AND ok = FALSE"), 600_000_000)
    ]


def test_depth_and_keys():
    chain = parse("BY(host, SINCE(a = 1 AND SINCE(b = 1) < 5) < 5)")

    assert (depth_of(chain), key_of(chain), functions_in(chain)[0].by) == (2, ("host",), ("host",))


DEEP = "SINCE(a = 1) > 1"
for _ in range(8):
    DEEP = f"SINCE({DEEP}) > 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("COUNT(a = 1, 'P1M') > 1", "no fixed length"),
        ("COUNT(a = 1, 5) > 1", "length of time in single quotes"),
        ("COUNT(5, 'PT1S') > 1", "takes a condition"),
        ("SUM(a + 1, TRUE, 'PT1S') > 1", "needs an attribute first"),
        ("SINCE(a = 1)", "a condition is needed"),
        (DEEP, "more than 8 deep"),
        ("ANY(items, SINCE(a = 1) > 3)", "whole events"),
        ("COUNT(ANY(items, COUNT(a = 1, 'PT1S') > 1), 'PT1S') > 1", "whole events"),
        ("BY(user, a = 1) AND b = 1", "BY, which encloses a whole subscription"),
        ("BY(a = 1)", "BY(user, condition)"),
        ("BY(5, a = 1)", "attributes before the condition"),
    ],
)
def test_refusals(text, reason):
    with pytest.raises(ExpressionError, match=reason.replace("(", r"\(").replace(")", r"\)")):
        parse(text)


def test_a_record_may_name_its_key():
    engine = tocsin.Engine()
    engine.subscribe("one", f"{FAILED} > 3", by="host")
    engine.subscribe_many([{"id": "two", "where": "a = 1", "by": ["host", "user"]}])

    assert [one["where"] for one in engine.subscriptions()] == [f"BY(host, {FAILED} > 3)", "BY(host, user, a = 1)"]
    with pytest.raises(RecordError, match="by names the attributes"):
        engine.subscribe("three", "a = 1", by=[5])
    with pytest.raises(RecordError, match="has a BY already"):
        engine.subscribe("three", "BY(user, a = 1)", by="host")


def test_an_engine_that_does_not_remember_refuses():
    """The refusal ends with the last such subscription, and a subscription with a key alone is no reason for one."""
    engine = tocsin.Engine()
    engine.subscribe("keyed", "BY(user, a = 1)")
    assert [one.subscription for one in engine.match({"a": 1})] == ["keyed"]

    engine.subscribe("guessing", f"{FAILED} >= 5")
    for ask in (
        engine.match,
        lambda event: engine.match_batch([event]),
        lambda event: engine.explain("guessing", event),
    ):
        with pytest.raises(InvalidInput, match=r"tocsin\.Monitor"):
            ask({"a": 1})

    engine.unsubscribe("guessing")
    engine.merge()
    assert [one.subscription for one in engine.match({"a": 1})] == ["keyed"]
