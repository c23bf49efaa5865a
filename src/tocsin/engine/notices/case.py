"""Warnings about conditions on strings that events satisfy only if case is ignored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from tocsin.engine.seen import Seen
from tocsin.language import to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.ignoring_case import ignoring_case
from tocsin.language.stored import stored_expression
from tocsin.model.expression import And, Attribute, Expression, Or, walk
from tocsin.model.subscription import Notice, SubscriptionId

_MOST_SUBSCRIPTIONS: Final = 10_000
_MOST_CONDITIONS: Final = 500
_MOST_STRINGS: Final = 64
"""Each distinct condition is evaluated on this many distinct strings: in all, a quarter of a second."""


def but_for_case(subscriptions: Iterable[tuple[SubscriptionId, str]], seen: Seen | None) -> Iterator[Notice]:
    """Warn of conditions that none of the first events satisfies, although some do if case is ignored.

    Only the first subscriptions are examined. Conditions below NOT, and about elements, are not.
    """
    if seen is None or seen.first is None:
        return
    found: dict[str, tuple[Expression, SubscriptionId, int]] = {}
    for id, text in islice(subscriptions, _MOST_SUBSCRIPTIONS):
        for node in _asked(stored_expression(text)) if "'" in text else ():
            condition = to_text(node)
            _, example, count = found.get(condition, (node, id, 0))
            found[condition] = node, example, count + 1
    strings: dict[str, list[str]] = {}
    for condition, (node, example, count) in islice(found.items(), _MOST_CONDITIONS):
        name = next(one.name for one in walk(node) if isinstance(one, Attribute))
        if name not in strings:
            strings[name] = list(dict.fromkeys(seen.first_strings(name)))[:_MOST_STRINGS]
        if (met := _met(node, name, strings[name])) is not None:
            example_text, proposed = met
            reason = f"{example_text!r:.60} satisfies it only if case is ignored; write {proposed}"
            yield Notice(name, condition, reason, count, example)


def _asked(tree: Expression) -> Iterator[Expression]:
    """The conditions on strings of a tree that are joined by AND and OR alone."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, And | Or):
            left += reversed(node.operands)
        elif ignoring_case(node) is not None:
            yield node


def _met(node: Expression, name: str, strings: list[str]) -> tuple[str, str] | None:
    """The first string that satisfies a condition if case is ignored, and what to write; None if one does as it is."""
    ignoring = ignoring_case(node)
    assert ignoring is not None
    met = [text for text in strings if evaluate(ignoring, {name: text}) is True]
    if not met or any(evaluate(node, {name: text}) is True for text in met):
        return None
    return met[0], to_text(ignoring)
