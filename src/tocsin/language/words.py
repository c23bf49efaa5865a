"""The regular expression that cuts a text into words for templates: names, strings, numbers, keywords and functions.

The words are those of `tokens.py`, as far as templates need them. Doubtful texts are left to `parse`.
"""

from __future__ import annotations

import re
from itertools import product
from string import whitespace
from typing import Final

from tocsin.language.tokens import KEYWORDS, is_plain_name

# The first and the later characters of a name. Beyond ASCII these allow too much; `is_sound` checks such names again.
_START: Final = r"[^\x00-9;-@\[-^`{-\x7f]"
_PART: Final = r"[^\x00-\-/;-@\[-^`{-\x7f]"

has_shape: Final = re.compile(r"(?i)(?:POLYGON|LINESTRING|MULTIPOINT|GEOMETRYCOLLECTION)\s*\(").search
"""Finds geometries. They are read as a whole, and hardly any two have the same words."""

_NUMBER: Final = r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"

split_words: Final = re.compile(
    rf"""(
        {_START}{_PART}*+(?:\s*+\()?+                   # a name or keyword; a function with its '('
      | '[^']*+(?:''[^']*+)*+'
      | {_NUMBER}
      | "(?:[^"]++|"")++"
      | (?<=[=<>(,])[{whitespace}]*+[+-]?{_NUMBER}      # there a sign is the number's, whatever comes before
    )""",
    re.VERBOSE,
).split

fixed_word: Final = {
    "".join(letters): word for word in KEYWORDS for letters in product(*((c, c.lower()) for c in word))
}.get
"""The keyword that a word spells in any case; None for other words."""

kind_of_word: Final = {**dict.fromkeys("0123456789.+-" + whitespace, "n"), "'": "s", '"': "q"}.get
"""The kind of slot for a word, by its first character. Any other character begins a name."""

KINDS: Final = {"a": "a", "q": "a", "s": "s", "n": "n", "d": "i", "t": "i"}
"""The kinds of slots in templates, by the kinds of words.

Names in double quotes ('q') are read differently, and so are strings in DATE ('d') and in TIMESTAMP ('t').
"""

INSTANTS: Final = {"DATE(": "d", "TIMESTAMP(": "t"}
"""The functions whose strings are instants, and the kinds of these words."""

KINDS_OF_TOKENS: Final = {"NAME": "a", "QUOTED": "a", "STRING": "s", "NUMBER": "n"}


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
