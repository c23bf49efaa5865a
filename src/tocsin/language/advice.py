"""Advice about expressions that mean something else than what their author probably meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tocsin.language.canonical import to_text
from tocsin.language.operators.operator import operator_of
from tocsin.model.expression import Attribute, Expression, walk, walk_all


class Advice(NamedTuple):
    """A condition, and what to look at."""

    attribute: str  # empty for none
    condition: str
    reason: str


def advice_on(tree: Expression, text: str = "") -> list[Advice]:
    """What of an expression is probably meant otherwise; `text` is what it was parsed from, if anything.

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
