"""Suggestions of the most similar known name for a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NEAR = 0.75
_MOST = 10_000


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar name: first one that differs only in case, then a misspelt one. None if no name is close.

    >>> nearest("prcie", ["price", "color"]), nearest("Price", ["price", "prices"]), nearest("x", ["price"])
    ('price', 'price', None)
    """
    known = [other for other in names if other != name][:_MOST]
    for other in known:
        if other.casefold() == name.casefold():
            return other
    found = difflib.get_close_matches(name, known, 1, _NEAR)
    return found[0] if found else None
