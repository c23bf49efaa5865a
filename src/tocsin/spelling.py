"""Messages as their reader can use them: options as arguments of Python or of a command, and no control characters.

A message names an option by its name in Python. Python's spelling is the default; the command line sets another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Spelling: TypeAlias = Callable[[str, Any], str]
"""Spells an option by its name in Python and its value, or the name alone if the value is None."""


def option(name: str, value: Any = None) -> str:
    """Spell an option, with its value unless that is None.

    >>> option("schema", {"price": "string"}), option("delimiter")
    ("schema={'price': 'string'}", 'delimiter')
    """
    return _spelling(name, value)


def only_in_python(text: str) -> str:
    """A part of a message that is about Python; empty on the command line."""
    return text if _spelling is _as_argument else ""


def printable(text: str) -> str:
    r"""A text whose characters all show. Others are spelled out, so that no terminal and no log obeys them.

    >>> print(printable("red: \x1b[31m, two lines: \n"))
    red: \x1b[31m, two lines: \n
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Spell the options of all messages of this process in another way, until the block ends."""
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


def _as_argument(name: str, value: Any) -> str:
    return name if value is None else f"{name}={value!r}"


_spelling: Spelling = _as_argument
