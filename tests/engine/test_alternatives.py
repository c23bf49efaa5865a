"""Warnings about conditions that have two sides: a value or an element, and TRUE or not TRUE."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin import match
from tocsin.language import evaluate, parse
from tocsin.model.elements import values_for

FORMS = (
    "SOME(x, element = 'a')",
    "SOME(x, element LIKE 'a%')",
    "SOME(x, element > 5)",
    "SOME(x, element IN ('a', 'b'))",
    "SOME(x, NOT element = 'b')",
    "SOME(x, element = 'a' OR element = 5)",
    "SOME(x, k = 'a')",
    "SOME(x, SOME(k, element = 'a'))",
    "x = 'a' OR ANY(x, element = 'a')",
    "x = 'a' OR ANY(x, element = 'a' AND k = 'b') OR x.k = 'a'",
    "(NOT HOLDS(y = 2) AND SOME(x, element = 'a')) OR SOME(x, element = 'a')",
)
EVENTS: dict[str, list[dict[str, Any]]] = {
    "texts": [{"x": "a"}, {"x": "b"}],
    "lists of texts": [{"x": ["a"]}, {"x": ["b", "a"]}],
    "objects": [{"x": {"k": "a"}}],
    "lists of objects": [{"x": [{"k": "a"}, {"k": "b"}]}],
    "booleans": [{"x": True}],
    "lists of booleans": [{"x": [True, False]}],
    "nothing": [{"y": 1}],
}


@pytest.mark.parametrize("came", EVENTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_warning_only_if_no_side_can_hold(form: str, came: str) -> None:
    """What holds of some event gets no warning, and what cannot hold of any gets one, and not one for each side."""
    answer = match({"id": "s", "where": form}, EVENTS[came])
    can_hold = any(evaluate(parse(form), values_for([parse(form)], event)) for event in EVENTS[came])
    if can_hold:
        assert not answer.warnings
    else:
        assert 1 <= len(answer.warnings) <= (2 if "AND" in form else 1)


@pytest.mark.parametrize("came", EVENTS)
@pytest.mark.parametrize("form", [f"NOT {form}" for form in FORMS if form.startswith("SOME")] + ["NOT HOLDS(x = 'a')"])
def test_no_warning_about_what_is_not_true(form: str, came: str) -> None:
    """NOT SOME and NOT HOLDS are meant for events that lack the value, or have another type."""
    assert not match({"id": "s", "where": form}, EVENTS[came]).warnings


def test_a_mistake_beside_it_is_told() -> None:
    """The same predicate outside of SOME, in this or another subscription, keeps its warning."""
    subscriptions = [
        {"id": "rule", "where": "SOME(tags, element = 'new')"},
        {"id": "mistake", "where": "tags = 'new'"},
        {"id": "both", "where": "SOME(tags, element = 'new') AND tags = 'new'"},
    ]
    (warning,) = match(subscriptions, [{"tags": ["new"]}]).warnings
    assert (warning.subscriptions, warning.example, warning.condition) == (2, "both", "tags = 'new'")
