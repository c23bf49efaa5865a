"""Descriptions of what would make a predicate TRUE."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import islice, takewhile
from typing import Any, Final, cast

from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.ignoring_case import ignoring_case
from tocsin.language.operators.operator import operator_of
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Constant, Expression, Not, attributes, walk
from tocsin.model.values import Value, a, type_name

_MOST_SHOWN: Final = 12
_MOST_COMPARED: Final = 100
"""Texts of an event, and constants, that may look alike."""
_LONGEST_COMPARED: Final = 1000


def needed_for(node: Expression, wanted: bool, values: Values) -> str:
    """Describe what would make a predicate TRUE, or FALSE if `wanted` is False.

    >>> from tocsin.language import parse
    >>> needed_for(parse("price <= 580"), True, {"price": 600.0})
    'price <= 580'
    >>> needed_for(parse("price <= 580"), True, {"price": "600"})
    'a number <= 580'
    """
    operator = operator_of(node)
    words = operator.needed(node, wanted, values) or to_text(node if wanted else Not(node))
    words += operator.unknown_because(node, values)
    return _looks_alike(node, wanted, values) or words + (_but_for_case(node, values) if wanted else "")


def _but_for_case(node: Expression, values: Values) -> str:
    """The condition that ignores case, if the event satisfies only that one; else empty."""
    ignoring = ignoring_case(node)
    if ignoring is None or evaluate(node, values) is not False or evaluate(ignoring, values) is not True:
        return ""
    return f"; if case is ignored it holds: write {to_text(ignoring)}"


def _looks_alike(node: Expression, wanted: bool, values: Values) -> str:
    """Show in which characters a text differs from a constant that looks the same; empty for other texts."""
    if not wanted:
        return ""
    constants = [one.value for one in walk(node) if isinstance(one, Constant) and isinstance(one.value, str)]
    came = [values.get(name) for name in attributes(node)]
    texts = (text for one in came for text in (one if isinstance(one, tuple) else (one,)) if isinstance(text, str))
    wanted_texts = [(text, _seen(text)) for text in _few(constants)]
    shown = ((text, _seen(text)) for text in _few(texts))
    alike = ((a, b) for a, first in shown for b, second in wanted_texts if a != b and first == second)
    return next((_apart(*pair) for pair in alike), "")


def _few(texts: Iterable[str]) -> list[str]:
    """The first texts of a moderate length. An event may have a million, or long ones."""
    return list(islice((text for text in texts if len(text) <= _LONGEST_COMPARED), _MOST_COMPARED))


def _seen(text: str) -> str:
    """Approximately the visible part of a text: NFKC, without format characters and surrounding spaces."""
    if text.isascii():
        return text.strip()
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf").strip()


def _apart(came: str, wanted: str) -> str:
    """Describe in code points where two texts that look the same differ."""
    start = _in_common(came, wanted)
    rests = came[start:], wanted[start:]
    end = _in_common(rests[0][::-1], rests[1][::-1])
    pieces = [rest[: len(rest) - end][:_MOST_SHOWN] for rest in rests]
    first, second = (" ".join(f"U+{ord(letter):04X}" for letter in piece) or "nothing" for piece in pieces)
    return f"{second}, but the event has {first} at character {start + 1}; the two look the same"


def _in_common(first: str, second: str) -> int:
    """The length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


# ---- wording for operators


def subject(node: Expression, kind: str, values: Values) -> str:
    """The attribute's name, or `a number` and the like when its value has another type."""
    if not isinstance(node, Attribute):
        return to_text(node)
    value = cast(Value | None, values.get(node.name))
    return name_text(node.name) if value is None or type_name(value) == kind else a(kind)


def listed(values: list[Any]) -> str:
    """List the first constants, and the count of the rest."""
    if not values:
        return "()"
    shown = ", ".join(constant_text(value) for value in values[:_MOST_SHOWN])
    more = len(values) - _MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
