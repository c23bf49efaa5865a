"""How is a text cut into words, by one regular expression? Names, strings, numbers, keywords and functions.

They are those of `tokens`, as far as templates need them: whatever is in doubt is left to `parse`.
"""

from __future__ import annotations

import re
from itertools import product
from string import whitespace
from typing import Final

from tocsin.language.tokens import KEYWORDS, is_plain_name

# What may begin a name, and go on in it. Beyond ASCII that is more than may: `is_sound` looks at those names again.
_START: Final = r"[^\x00-9;-@\[-^`{-\x7f]"
_PART: Final = r"[^\x00-\-/;-@\[-^`{-\x7f]"

has_shape: Final = re.compile(r"(?i)(?:POLYGON|LINESTRING|MULTIPOINT|GEOMETRYCOLLECTION)\s*\(").search
"""Geometries are read as a whole, and no two have the same words."""

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
"""The keyword that a word is, however it is spelled."""

kind_of_word: Final = {**dict.fromkeys("0123456789.+-" + whitespace, "n"), "'": "s", '"': "q"}.get
"""The kind of slot that a word is, by its first character; anything else begins a name."""

KINDS: Final = {"a": "a", "q": "a", "s": "s", "n": "n"}
"""The kinds of slots, as templates tell them; a name in double quotes is read in another way."""

KINDS_OF_TOKENS: Final = {"NAME": "a", "QUOTED": "a", "STRING": "s", "NUMBER": "n"}


def is_sound(text: str, words: list[str], marks: list[str]) -> bool:
    """Whether a text beyond ASCII is valid Unicode, and what was taken for names and functions are some."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    for word, mark in zip(words, marks, strict=True):
        if mark == "a":
            # U+1680 may be in a name, and is a space before one.
            if not is_plain_name(word) or word[0].isspace():
                return False
        elif word[-1] == "(" and not word.isascii():  # in capitals it may be another's, as U+017F is S
            return False
    return True
