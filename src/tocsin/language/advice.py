"""Advice about expressions that mean something else than what their author probably meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, cast

from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.strings import fold_case
from tocsin.model.expression import (
    STRING_FUNCTIONS,
    TEXT,
    AnyElement,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Constant,
    Expression,
    Like,
    is_text,
    walk,
)
from tocsin.model.shapes import longest_step
from tocsin.model.values import Box, Shape, crosses


class Advice(NamedTuple):
    """A condition, and what to look at."""

    attribute: str  # empty for none
    condition: str
    reason: str


MAY_NEED: Final = re.compile(r'LIKE|MATCHES|TEXT|BBOX|LINESTRING|POLYGON|GEOMETRYCOLLECTION|-|[=<>]\s*"', re.IGNORECASE)
"""What texts have that need advice: all others do without."""


def advice_on(tree: Expression, text: str = "") -> list[Advice]:
    """What of an expression is probably meant otherwise; `text` is what it was parsed from, if anything.

    >>> from tocsin.language import parse
    >>> [one.reason for one in advice_on(parse("name LIKE 'ip*'"))]
    ['* is not a wildcard in LIKE; write %']
    """
    return list(_advice(tree, text))


def _advice(tree: Expression, text: str) -> Iterator[Advice]:
    for node in walk(tree):
        for reason in (check(node, text) for check in _CHECKS.get(type(node), ())):
            if reason:
                names = [one.name for one in walk(node) if isinstance(one, Attribute)]
                yield Advice(names[0] if names else "", to_text(node), reason)
        if isinstance(node, AnyElement):
            yield from _advice(node.condition, text)


def _quoted_value(node: Comparison, text: str) -> str:
    """`color = "gold"`, where a text was meant."""
    right = node.right
    if not (isinstance(node.left, Attribute) and isinstance(right, Attribute) and right.span and text):
        return ""
    if not text[right.span.start : right.span.end].startswith('"'):
        return ""
    return f"{name_text(right.name)} in double quotes is an attribute; a text is {constant_text(right.name)}"


def _hyphen(node: Arithmetic, text: str) -> str:
    """`detail-type`, where one name was meant."""
    left, right = node.left, node.right
    if node.op != "-" or not (isinstance(left, Attribute) and isinstance(right, Attribute)):
        return ""
    if not (text and left.span and right.span) or text[left.span.end : right.span.start] != "-":
        return ""
    whole = f"{left.name}-{right.name}"
    return f'{whole} is a subtraction; a name with a hyphen is written in double quotes: "{whole}"'


def _star(node: Like, _text: str) -> str:
    pattern = next(one for one in walk(node.pattern) if isinstance(one, Constant)).value
    return "* is not a wildcard in LIKE; write %" if isinstance(pattern, str) and "*" in pattern else ""


def _capitals(node: Call, _text: str) -> str:
    """MATCHES of folded text with capital letters in the pattern."""
    if node.name != "MATCHES" or not _is_folded(node.arguments[0]):
        return ""
    pattern = cast(str, cast(Constant, node.arguments[1]).value)
    if _IGNORES_CASE.search(pattern):
        return ""
    letters = [one for one in NO_LETTERS.sub("", pattern) if fold_case(one) != one]
    shown = constant_text("".join(dict.fromkeys(letters)))
    return f"folded text never has {shown}: write the pattern in folded letters, or with (?i)" if letters else ""


def _is_folded(node: Expression) -> bool:
    return isinstance(node, Call) and (node.name == STRING_FUNCTIONS[0] or _is_folded(node.arguments[0]))


_IGNORES_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")
NO_LETTERS: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\.[0-9A-Fa-f]?|\(\?P?<[^>]*>|\[:\^?\w+:\]", re.DOTALL
)
"""What of a regular expression are not letters that a text has: escapes, names of groups and of classes."""


def _signs(node: Call, _text: str) -> str:
    """TEXT with signs that are not part of any word, and with Korean, whose particles are part of words."""
    if node.name != TEXT or not is_text(node):
        return ""
    query = cast(str, cast(Constant, node.arguments[1]).value)
    dropped = [one for one in query if unicodedata.category(one) in _SYMBOLS or one in "&#@*%/\\"]
    if dropped:
        return f"{constant_text(''.join(dict.fromkeys(dropped)))} is not part of a word, and not asked for"
    if any("\uac00" <= one <= "\ud7a3" for one in query):
        return "a Korean word with a particle is another word; LIKE finds it within others"
    return ""


_SYMBOLS: Final = ("So", "Sm", "Sc", "Sk")


def _swapped(node: Constant, _text: str) -> str:
    """A box that is wider than half the globe by crossing the antimeridian, and edges that go the long way round."""
    value = node.value
    if isinstance(value, Box) and crosses(value.bounds()):
        width = 360 - (value.xmin - value.xmax)
        return f"the box is {width:g} degrees wide; are its left and right edge exchanged?" if width > 180 else ""
    if isinstance(value, Shape) and longest_step(value) > 180:
        return (
            "an edge is longer than 180 degrees, and goes the long way round; cut the shape at the antimeridian, "
            "as RFC 7946 says: MULTIPOLYGON(((170 ..., 180 ...)), ((-180 ..., -170 ...)))"
        )
    return ""


_CHECKS: Final[dict[type, tuple[Callable[[Any, str], str], ...]]] = {
    Comparison: (_quoted_value,),
    Arithmetic: (_hyphen,),
    Like: (_star,),
    Call: (_capitals, _signs),
    Constant: (_swapped,),
}
