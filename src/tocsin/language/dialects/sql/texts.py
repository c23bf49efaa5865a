"""Conditions of SQL on texts: LIKE, ILIKE, lower, and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tocsin.language.dialects.dialect import Reader, Wild, call, like
from tocsin.model.expression import Attribute, Constant, Expression

_MORE_FORMS: Final = {"k": "\u212a", "i": "\u0130"}
"""Letters beside A to Z that `lower` makes letters a to z: the Kelvin sign, and I with a dot."""
_SAFE: Final = re.compile(
    r"(?:[^\\\[\]().$^*+?{}|]|\[\^?(?:[^\\\[\]&~^-]|(?<=\w)-(?=\w))+\]|\^(?![*+?{])|[()|]"
    r"|(?<![*+?}(|^])(?:[*+?]|\{\d+(?:,\d*)?\})(?![*+?{]))+"
)
"""Regular expressions that RE2 and Java read in the same way."""


def pattern_parts(pattern: str, escape: str | None, reader: Reader) -> list[str | Wild]:
    """The parts of a LIKE pattern."""
    if escape is None and "\\" in pattern:
        reader.refuse("a backslash")
    wildcards = {"%": Wild.RUN, "_": Wild.ONE}
    parts: list[str | Wild] = []
    letters = iter(pattern)
    for letter in letters:
        if letter != escape:
            parts.append(wildcards.get(letter, letter))
            continue
        after = next(letters, "")
        if after not in (escape, "%", "_") or not after:
            reader.fail(f"{letter} escapes %, _ and itself; it is followed by {after or 'nothing'!r}")
        parts.append(after)
    return parts


def like_text(text: Expression, parts: Sequence[str | Wild], ignores_case: bool, reader: Reader) -> Expression:
    """LIKE or, if case is ignored, ILIKE."""
    if not ignores_case:
        return like(text, *parts)
    return _in_any_case(text, [part.lower() if isinstance(part, str) else part for part in parts], reader)


def equal_lower(text: Expression, constants: Sequence[str], reader: Reader) -> Expression:
    """Whether `lower(text)` is one of some texts."""
    return _of_regex(text, "|".join(_regex([constant], reader) for constant in constants))


def like_lower(text: Expression, parts: Sequence[str | Wild], reader: Reader) -> Expression:
    """`lower(text) LIKE`."""
    return _in_any_case(text, parts, reader)


def matches(text: Expression, pattern: str, reader: Reader) -> Expression:
    """A regular expression, found anywhere."""
    if not _SAFE.fullmatch(pattern):
        reader.refuse("this regular expression")
    return reader.made(lambda: call("MATCHES", text, Constant(pattern)))


def _in_any_case(text: Expression, parts: Sequence[str | Wild], reader: Reader) -> Expression:
    return _of_regex(text, _regex(parts, reader))


def _of_regex(text: Expression, pattern: str) -> Expression:
    assert isinstance(text, Attribute)
    return call("MATCHES", text, Constant(f"(?s)^(?:{pattern})$"))


def _regex(parts: Sequence[str | Wild], reader: Reader) -> str:
    """A regular expression for texts that `lower` makes fit a pattern."""
    return "".join([_letters(part, reader) if isinstance(part, str) else _WILD[part] for part in parts])


_WILD: Final = {Wild.RUN: ".*", Wild.ONE: "."}


def _letters(text: str, reader: Reader) -> str:
    if not text.isascii():
        reader.refuse("a letter beyond ASCII")
    if text != text.lower():
        reader.fail(f"{text!r} has capital letters, which lower() never gives")
    forms = [one + one.upper() + _MORE_FORMS.get(one, "") if one.isalpha() else one for one in text]
    return "".join(f"[{form}]" if len(form) > 1 else re.escape(form) for form in forms)
