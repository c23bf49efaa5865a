"""Messages as their reader can use them: options as arguments of Python or of a command, and no control characters.

A message names an option by its name in Python. Python's spelling is the default; the command line sets another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

Spelling: TypeAlias = Callable[[str, Any], str]
"""Spells an option by its name in Python and its value, or the name alone if the value is None."""


UNPRINTABLE: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls other than the line feed, marks of direction, and lone surrogates."""


def option(name: str, value: Any = None) -> str:
    """Spell an option, with its value unless that is None.

    >>> option("schema", {"price": "string"}), option("delimiter")
    ("schema={'price': 'string'}", 'delimiter')
    """
    return _spelling(name, value)


def only_in_python(text: str) -> str:
    """A part of a message that is about Python; empty on the command line."""
    return text if _spelling is _as_argument else ""


def printable(text: str, *, lines: bool = False) -> str:
    r"""A text with escapes in place of what a terminal or a log would obey; with `lines`, line feeds stay.

    >>> print(printable("red: \x1b[31m, two lines: \n"))
    red: \x1b[31m, two lines: \n
    """
    shown = UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)
    return shown if lines else shown.replace("\n", "\\n")


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
