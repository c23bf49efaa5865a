"""Advice on expressions that probably do not mean what their author intended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tocsin.language.canonical import to_text
from tocsin.language.operators.operator import operator_of
from tocsin.model.expression import Attribute, Expression, walk, walk_all
from tocsin.model.subscription import SubscriptionId


class Advice(NamedTuple):
    """A suspicious condition and the advice about it."""

    attribute: str  # empty if the condition has none
    condition: str
    reason: str
    subscription: SubscriptionId | None = None  # the first one with the condition, if that is known


def advice_on(tree: Expression, text: str = "") -> list[Advice]:
    """Find the conditions in an expression that are probably mistakes; `text` is its source text, if there is one.

    >>> from tocsin.language import parse
    >>> [one.reason for one in advice_on(parse("name LIKE 'ip*'"))]
    ['* is not a wildcard in LIKE; write %']
    """
    return list(_advice(tree, text))


def _advice(tree: Expression, text: str) -> Iterator[Advice]:
    for node in walk_all(tree):
        reason = operator_of(node).advice(node, text)
        if reason:
            names = [one.name for one in walk(node) if isinstance(one, Attribute)]
            yield Advice(names[0] if names else "", to_text(node), reason)
