"""What a relaxed ranking and the weights of a subscription may be, and what is said of anything else."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

import tocsin
from tests.engine.relaxed_samples import INDEXES, Asked, tuples

BAD_WEIGHTS: Final = {
    "negative": {"a": -1},
    "barely negative": {"a": -5e-324},
    "NaN": {"a": float("nan")},
    "infinity": {"a": float("inf")},
    "a boolean": {"a": True},
    "text": {"a": "1"},
    "beyond float64": {"a": 10**400},
    "an attribute that is not named": {"b": 1},
    "one of two that is not named": {"a": 1, "b": 0},
    "a name in another case": {"A": 1},
    "the beginning of a name": {"a": 1, "n": 1},
    "a name that is no string": {1: 1},
    "no mapping": 5,
}
WHERE: Final = "a = 1 AND n.x = 2"


@pytest.mark.parametrize("k", [0, -1, True, False, 1.0, 2.5, "1", None])
def test_k_is_a_whole_number_of_at_least_one(k: Any) -> None:
    """The message says what came and what is allowed."""
    with pytest.raises(tocsin.InvalidInput, match=rf"k is {re.escape(repr(k))}.*at least 1"):
        tocsin.Relaxed(k)


@pytest.mark.parametrize("combine", ["avg", "SUM", "", "sum ", 3, ["sum"]])
def test_combine_is_a_known_name_or_a_function(combine: Any) -> None:
    """The message says what came and lists the names."""
    with pytest.raises(tocsin.InvalidInput, match=r"(?s)combine") as error:
        tocsin.Relaxed(1, combine=combine)

    assert repr(combine) in str(error.value)
    assert all(name in str(error.value) for name in ("sum", "max", "min"))


@pytest.mark.parametrize("drop", ["a", "", "job"])
def test_drop_is_no_plain_string(drop: str) -> None:
    """It would be split into letters."""
    with pytest.raises(tocsin.InvalidInput, match="drop"):
        tocsin.Relaxed(1, drop=drop)


def test_what_is_not_said_is_sum_with_nothing_dropped() -> None:
    """The defaults by name give what no names give."""
    held = [{"id": 1, "where": "a = 1 AND b = 1", "weights": {"a": 2}}, {"id": 2, "where": "b = 1 AND c = 1"}]
    said = tocsin.Relaxed(k=2, combine="sum", drop=())

    answers = [tuples(tocsin.match(held, [{"a": 1, "b": 1}], ranking=r)) for r in (tocsin.Relaxed(2), said)]

    assert answers == [[(0, 1, 3.0), (0, 2, 1.0)]] * 2


@pytest.mark.parametrize("drop", [["a"], ("a",), {"a"}, frozenset("a"), {"a": 1}.keys()])
def test_drop_is_any_collection(drop: Any) -> None:
    """Lists, tuples, sets and views; it is ignored for this call only."""
    engine = tocsin.Engine()
    engine.subscribe(1, "a = 1 AND b = 1", weights={"a": 2})

    assert [m.score for m in engine.match({"a": 1, "b": 1}, ranking=tocsin.Relaxed(1, drop=drop))] == [1.0]
    assert [m.score for m in engine.match({"a": 1, "b": 1}, ranking=tocsin.Relaxed(1))] == [3.0]


@pytest.mark.parametrize("ranking", [5, "relaxed", (3, "sum")])
def test_a_ranking_is_one_of_ours(ranking: Any) -> None:
    """In one call, and on an engine."""
    with pytest.raises(tocsin.InvalidInput, match="ranking"):
        tocsin.match([], [], ranking=ranking)
    with pytest.raises(tocsin.InvalidInput, match="ranking"):
        tocsin.Engine().match({}, ranking=ranking)


def test_a_class_is_no_ranking() -> None:
    """`Relaxed` without a k is the likeliest slip."""
    with pytest.raises(tocsin.InvalidInput, match="ranking"):
        tocsin.match([], [], ranking=tocsin.Relaxed)


@pytest.mark.parametrize("weights", BAD_WEIGHTS.values(), ids=list(BAD_WEIGHTS))
def test_bad_weights_are_refused_by_an_engine(weights: Any) -> None:
    """The error is of the weights, and nothing changes."""
    engine = tocsin.Engine()
    engine.subscribe(1, WHERE, weights={"a": 3})
    for name, replace in ((1, True), (2, False)):
        with pytest.raises(tocsin.RecordError) as error:
            engine.subscribe(name, WHERE, weights=weights, replace=replace)
        assert error.value.field == "weights"

    found = engine.match({"a": 1, "b": 1, "n": {"x": 2}}, ranking=Asked(5).ranking())
    assert [(match.subscription, match.score) for match in found] == [(1, 4.0)]


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("weights", BAD_WEIGHTS.values(), ids=list(BAD_WEIGHTS))
def test_bad_weights_cost_their_record_in_a_batch(weights: Any, index: str) -> None:
    """The rest is served, with its own weights."""
    held = [
        {"id": "one", "where": WHERE, "weights": {"n.x": 0.5}},
        {"id": "bad", "where": WHERE, "weights": weights},
        {"id": "two", "where": WHERE, "weights": {"a": 0}},
    ]
    event, ranking = {"a": 1, "n": {"x": 2}}, Asked(5).ranking()
    engine = tocsin.Engine(index)

    answer = tocsin.match(held, [event], index=index, ranking=ranking)
    report = engine.subscribe_many(held)

    for rejects in (answer.subscription_errors, report.errors):
        assert [(reject.row, reject.id, reject.field) for reject in rejects] == [(1, "bad", "weights")]
    assert tuples(answer) == [(0, "one", 1.5), (0, "two", 1.0)]
    assert report.accepted == 2
    assert tuples(engine.match_batch([event], ranking=ranking)) == tuples(answer)


def test_a_weight_that_is_not_named_is_said_to_be_so() -> None:
    """The message names the attribute that has a weight and is not in the expression, whatever form that has."""
    tree = tocsin.to_json(tocsin.parse(WHERE))
    held = [{"id": place, "where": where, "weights": {"rate": 1}} for place, where in enumerate((WHERE, tree, True))]
    lines = "".join(json.dumps(one) + "\n" for one in held).encode()

    for source in (held, lines):
        errors = tocsin.Engine().subscribe_many(source).errors
        assert [(e.row, e.id, e.field) for e in errors] == [(n, n, "weights") for n in range(3)]
        assert all("'rate'" in e.reason for e in errors)


def test_strict_raises_at_bad_weights() -> None:
    """The error is of the weights."""
    with pytest.raises(tocsin.RecordError, match="weights"):
        tocsin.match([{"id": 1, "where": "a = 1", "weights": {"b": 1}}], [{}], strict=True)


def test_a_name_anywhere_in_the_expression_may_have_a_weight() -> None:
    """Even where it is of no use, in a dimension of several attributes, or in one that can never hold."""
    engine = tocsin.Engine()
    engine.subscribe(1, "(a = 1 OR b = 2) AND c IN (1, d) AND e = 1 AND e = 2", weights=dict.fromkeys("abcde", 7))

    found = engine.match({"b": 2, "c": 1, "d": 0, "e": 1}, ranking=Asked(1).ranking())

    assert [(match.subscription, match.score) for match in found] == [(1, 2.0)]
