"""SEMVER: a version by the precedence of Semantic Versioning 2.0."""

from __future__ import annotations

import re
from typing import Final

from tocsin.language.operators.ordered_text import OrderedText

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER: Final = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def version_key(text: str) -> str | None:
    """The key of a version; None if the text is not one. Build metadata does not count.

    A number comes after the number of its digits, as letters, so that longer ones sort later. A release comes after its
    pre-releases, and a word in one after a number.

    >>> version_key("1.2.10"), version_key("1.2.10-rc.1"), version_key("1.2")
    ('a1.a2.b10~', 'a1.a2.b10-1rc+0a1', None)
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    *numbers, before = found.groups()
    release = ".".join(map(_number_key, numbers))
    return release + "~" if before is None else release + "-" + "+".join(map(_identifier_key, before.split(".")))


def _number_key(digits: str) -> str:
    more, rest = divmod(len(digits) - 1, 25)
    return "z" * more + chr(ord("a") + rest) + digits


def _identifier_key(identifier: str) -> str:
    return "0" + _number_key(identifier) if identifier.isdigit() else "1" + identifier


class Version(OrderedText):
    names, name, kind = ("SEMVER",), "SEMVER", "a version such as 1.2.3 or 1.2.3-rc.1"

    def key(self, text: str) -> str | None:
        return version_key(text)
