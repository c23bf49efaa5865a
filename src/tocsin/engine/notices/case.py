"""Warnings about conditions on strings that events satisfy only if case is ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

from tocsin.engine.seen import Seen
from tocsin.language import to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.ignoring_case import ignoring_case
from tocsin.language.stored import stored_expression
from tocsin.language.strings import fold_case
from tocsin.model.expression import And, Attribute, Expression, Or, walk
from tocsin.model.readings import attribute_of
from tocsin.model.subscription import Notice, SubscriptionId

_MOST_SUBSCRIPTIONS: Final = 10_000
_MOST_CONDITIONS: Final = 500
_MOST_STRINGS: Final = 64
"""Each distinct condition is evaluated on this many distinct strings: in all, a quarter of a second."""

_STRING: Final = re.compile(r"'((?:[^']|'')*)'")
_LIKE: Final = re.compile(r"\bLIKE\b", re.IGNORECASE)
_MATCHES: Final = re.compile(r"\bMATCHES\b", re.IGNORECASE)
_WILD: Final = re.compile(r"[%_\\]")


def but_for_case(subscriptions: Iterable[tuple[SubscriptionId, str]], seen: Seen | None) -> Iterator[Notice]:
    """Warn of conditions that none of the first events satisfies, although some do if case is ignored.

    Only the first subscriptions are examined. Conditions below NOT, and about elements, are not.
    """
    if seen is None or seen.first is None:
        return
    strings = _Strings(seen)
    texts = [(id, text) for id, text in islice(subscriptions, _MOST_SUBSCRIPTIONS) if strings.may_meet(text)]
    found: dict[str, tuple[Expression, SubscriptionId, int]] = {}
    for id, text in texts:
        for condition, node in {to_text(node): node for node in _asked(stored_expression(text))}.items():
            _, example, count = found.get(condition, (node, id, 0))
            found[condition] = node, example, count + 1
    for condition, (node, example, count) in islice(found.items(), _MOST_CONDITIONS):
        name = next(one.name for one in walk(node) if isinstance(one, Attribute))
        if (met := _met(node, name, strings.of(name))) is not None:
            example_text, proposed = met
            reason = f"{example_text!r:.60} satisfies it only if case is ignored; write {proposed}"
            yield Notice(name, condition, reason, count, example)


class _Strings:
    """The strings of the first events, and which texts of subscriptions may be met by them if case is ignored."""

    def __init__(self, seen: Seen) -> None:
        seen.finish()
        found = seen.first_strings(set(map(attribute_of, seen.types)))
        self._of = {name: list(dict.fromkeys(texts))[:_MOST_STRINGS] for name, texts in found.items()}
        self._spellings: dict[str, list[str]] = {}
        for text in chain.from_iterable(self._of.values()):
            self._spellings.setdefault(fold_case(text), []).append(text)
        self._folded = "\0".join(self._spellings)

    def of(self, name: str) -> list[str]:
        """The first distinct strings of an attribute."""
        return self._of.get(name, [])

    def may_meet(self, text: str) -> bool:
        """False if no string satisfies a condition of the text only if case is ignored. Does not parse the text."""
        if "'" not in text:
            return False
        if text.startswith("@") or _MATCHES.search(text):
            return True
        has_pattern = _LIKE.search(text) is not None
        for found in _STRING.findall(text):
            value = found.replace("''", "'")
            folded = fold_case(value)
            if any(spelling != value for spelling in self._spellings.get(folded, ())):
                return True
            if has_pattern and all(piece in self._folded for piece in _WILD.split(folded)):
                return True
        return False


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
