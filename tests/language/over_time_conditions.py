"""Conditions of the language as the oracle of conditions over time takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tests.naive.flatten import flatten
from tests.naive.over_time import SECOND, Condition, Event, Function, History, Term
from tocsin.language.operators.over_time import OverTime, key_of, name_of, term_of
from tocsin.model.expression import Attribute, Call, Expression, fold


def condition_of(tree: Expression) -> Condition:
    """A condition in which the values of functions over time are attributes."""
    terms: dict[str, Term] = {}

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if not isinstance(node, OverTime):
            return node.with_children(parts) if parts else node
        term = term_of(node)
        inner = None if term.condition is None else condition_of(term.condition)
        terms[name_of(node)] = Term(cast(Function, term.function), term.attribute, inner, term.span)
        return Attribute(name_of(node))

    return Condition(fold(tree, combine), tuple(terms.items()))


def holding(tree: Expression, events: Sequence[tuple[int, Mapping[str, Any]]]) -> set[int]:
    """The numbers of the events, each with its second, at which a condition with a key of its own is TRUE."""
    key = key_of(tree)
    condition = condition_of(cast(Call, tree).arguments[-1])
    objects: dict[tuple[Any, ...], list[int]] = {}
    for number, (_, values) in enumerate(events):
        if all(values.get(name) is not None for name in key):
            objects.setdefault(tuple(values[name] for name in key), []).append(number)
    found = set[int]()
    for numbers in objects.values():
        history = History([Event(events[number][0] * SECOND, flatten(events[number][1])[0]) for number in numbers])
        found |= {number for place, number in enumerate(numbers) if history.truth(condition, place)}
    return found
