"""The regular expression that cuts a text into words for templates: names, strings, numbers, keywords and functions.

The words are those of `tokens.py`, as far as templates need them. Doubtful texts are left to `parse`.
"""

from __future__ import annotations

import re
from itertools import product
from string import whitespace
from typing import Final

from tocsin.language import functions
from tocsin.language.tokens import KEYWORDS, is_plain_name

# The first and the later characters of a name. Beyond ASCII these allow too much; `is_sound` checks such names again.
_START: Final = r"[^\x00-9;-@\[-^`{-\x7f]"
_PART: Final = r"[^\x00-\-/;-@\[-^`{-\x7f]"

_NUMBER: Final = r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"

_INSIDE = r"[^()]*+"
for _ in range(5):  # a collection of collections of polygons; what nests deeper is left to `parse`
    _INSIDE = rf"[^()]*+(?:\({_INSIDE}\)[^()]*+)*+"
_SHAPE: Final = rf"(?ai:(?:{'|'.join(sorted(functions.SHAPES, key=len, reverse=True))})(?:\s++Z)?+\s*+\({_INSIDE}\))"
has_shape: Final = re.compile(rf"(?ai)(?:{'|'.join(functions.SHAPES)})(?:\s++Z)?+\s*+\(").search

_WORD: Final = rf"""
        {_START}{_PART}*+(?:\s*+\()?+                   # a name or keyword; a function with its '('
      | '[^']*+(?:''[^']*+)*+'
      | {_NUMBER}
      | "(?:[^"]++|"")++"
      | (?<=[=<>(,])[{whitespace}]*+[+-]?{_NUMBER}      # there a sign is the number's, whatever comes before
"""
split_words: Final = re.compile(f"({_WORD})", re.VERBOSE).split
split_words_and_shapes: Final = re.compile(f"({_SHAPE}|{_WORD})", re.VERBOSE).split
find_shapes: Final = re.compile(_SHAPE).findall

fixed_word: Final = {
    "".join(letters): word for word in KEYWORDS for letters in product(*((c, c.lower()) for c in word))
}.get
"""The keyword that a word spells in any case; None for other words."""

kind_of_word: Final = {**dict.fromkeys("0123456789.+-" + whitespace, "n"), "'": "s", '"': "q"}.get
"""The kind of slot for a word, by its first character. Any other character begins a name."""

KINDS: Final = {"a": "a", "q": "a", "s": "s", "n": "n", "d": "i", "t": "i", "g": "g"}
"""The kinds of slots in templates, by the kinds of words.

Names in double quotes ('q') are read differently, and so are strings in DATE ('d'), and in TIMESTAMP and INTERVAL
('t').
"""

OPEN: Final = "'..'"
"""The open end of an interval, which is no slot."""

INSTANTS: Final = {"DATE(": ("d", 1), "TIMESTAMP(": ("t", 1), "INTERVAL(": ("t", 2)}
"""The functions whose strings are instants, the kind of these words, and how many there are."""

SHAPES: Final = frozenset((*(f"{name}(" for name in functions.SHAPES), "Z("))
"""The functions that begin a shape; `Z` follows the name of one with a third coordinate."""

NUMBERED: Final = {"AT_LEAST(": 1, "AT(": 2}
"""The functions of which an argument is a number that is part of the form of a text, not a slot."""

SOME: Final = "SOME("
"""The function whose condition is also read as one on the value itself, where `element` is the value."""

SPECIAL: Final = SHAPES.union(INSTANTS, NUMBERED, (SOME,))
"""The functions whose arguments are not as those of others."""

FIXED: Final = "'0123456789.+-e"
"""The first letters of marks that are not slots: an open end, a number that is fixed, or `element` beside SOME."""


KINDS_OF_TOKENS: Final = {"NAME": "a", "QUOTED": "a", "STRING": "s", "NUMBER": "n", "SHAPE": "g"}


def is_sound(text: str, words: list[str], marks: list[str]) -> bool:
    """Whether a non-ASCII text is valid Unicode, and its names and functions are valid."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    for word, mark in zip(words, marks, strict=True):
        if mark == "a":
            # U+1680 may be in a name, and is a space before one.
            if not is_plain_name(word) or word[0].isspace():
                return False
        elif word[-1] == "(" and not word.isascii():  # its capitals may be those of another name: U+017F becomes S
            return False
    return True
