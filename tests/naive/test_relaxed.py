"""The oracle of relaxed rankings gives the answers that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given

import tocsin
from tests import strategies as own
from tests.naive import match as naive
from tests.naive.engine import Reference
from tests.naive.relaxed import dimensions, relaxed
from tests.naive.relaxed_examples import NURSING, WORKED, Worked
from tocsin.model.expression import And


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.told)
def test_worked_examples(worked: Worked) -> None:
    """Ids, scores and order are those worked out by hand."""
    subscriptions = [(name, tocsin.parse(text), weights) for name, (text, weights) in worked.subscriptions.items()]

    best = relaxed(subscriptions, [worked.event], worked.k, **worked.options())

    assert best == [(0, *pair) for pair in worked.answer]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (NURSING, [("hours",), ("job",), ("rate",)]),
        ("b = 1 AND a > 1 AND TRUE AND a < b AND a < 5", [(), ("a",), ("a", "b"), ("b",)]),
        ("b = a AND a = b", [("a", "b"), ("a", "b")]),
        ("a = 1 OR b = 1", [("a", "b")]),
        ("NOT (a = 1 AND b = 1)", [("a", "b")]),
        ("FALSE", [()]),
    ],
)
def test_dimensions_come_in_the_order_of_adding(text: str, names: list[tuple[str, ...]]) -> None:
    """Sorted by attributes, and by place where these are the same."""
    assert [attributes for attributes, _ in dimensions(tocsin.parse(text))] == names


def test_dimensions_hold_every_conjunct_in_its_place() -> None:
    """Conjuncts of one attribute are together, those of several apart; an AND in an AND is flattened."""
    first, second, third, fourth = (tocsin.parse(text) for text in ("a > 1", "b > a", "a < 5", "a > b"))

    found = dimensions(And((first, And((second, And((third, fourth)))))))

    assert found == [(("a",), [first, third]), (("a", "b"), [second]), (("a", "b"), [fourth])]


@given(tree=own.expressions(max_depth=5), event=own.python_events())
def test_what_matches_is_relaxed_with_all_dimensions(tree, event) -> None:
    """A subscription is TRUE exactly where every one of its dimensions holds."""
    count = len(dimensions(tree))

    found = relaxed([(1, tree, {})], [event], 1, combine=lambda weights: float(len(weights)))

    assert (found == [(0, 1, count)]) == (naive.match([(1, tree)], [event]) == [(0, 1)])


def test_a_bad_event_concerns_nobody() -> None:
    """Rows count all events, the bad ones too."""
    events = [{"a": 1}, {"a": 1, "x.y": 1, "x": {"y": 1}}, {"a": 2}, {"a": 1}]

    assert relaxed([(7, tocsin.parse("a = 1"), {})], events, 1) == [(0, 7, 1.0), (3, 7, 1.0)]


@pytest.mark.parametrize("weights", [{"b": 1}, {"a": -1}, {"a": True}, {"a": float("nan")}, {"a": float("inf")}])
def test_the_reference_refuses_bad_weights(weights: dict[str, float]) -> None:
    """And leaves everything as it was."""
    reference = Reference()
    with pytest.raises(tocsin.RecordError) as error:
        reference.subscribe(1, "a = 1", weights=weights)

    assert error.value.field == "weights"
    assert len(reference) == 0
