"""Patterns, letters and numbers in strings, by Python's own tables and by RE2."""

from __future__ import annotations

import math
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

from tests.naive.places import Result
from tests.naive.ranges import Truth
from tests.naive.texts import letter_of


def like(text: Result, pattern: Result) -> Truth:
    r"""Whether the whole text fits: `%` any run, `_` one code point, `\` takes the next one literally.

    A pattern that ends in an unfinished escape fits nothing.
    """
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    reached = {0}  # lengths of the text's beginnings that fit the pattern read so far
    escaped = False
    for character in pattern:
        if character == "\\" and not escaped:
            escaped = True
            continue
        if escaped or character not in "%_":
            reached = {n + 1 for n in reached if text[n : n + 1] == character}
        elif character == "_":
            reached = {n + 1 for n in reached if n < len(text)}
        else:
            reached = {n for n in range(len(text) + 1) if any(start <= n for start in reached)}
        escaped = False
    return len(text) in reached and not escaped


def casei(text: Result) -> str | None:
    """Text without its case; null for what is no text."""
    return text.casefold() if isinstance(text, str) else None


def accenti(text: Result) -> str | None:
    """Text without its accents: decomposed, marks dropped, composed, letters with strokes plain; else null."""
    if not isinstance(text, str):
        return None
    letters = [c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn"]
    return "".join(map(letter_of, unicodedata.normalize("NFC", "".join(letters))))


def matches(text: Result, regex: Result) -> Truth:
    """Whether RE2 finds the regex anywhere in the text."""
    if not isinstance(text, str) or not isinstance(regex, str):
        return None
    return bool(pc.match_substring_regex(pa.array([text], pa.string()), regex)[0].as_py())


def number(value: Result) -> float | None:
    """A number, a boolean, or a string that spells a number, as a number."""
    if isinstance(value, str):
        fits = value.isascii() and value.lower().strip("+-.0123456789e") == "" and value[:1] not in ("e", "E")
        try:
            value = float(value) if fits else None
        except ValueError:
            return None
    return float(value) if isinstance(value, bool | float) and math.isfinite(value) else None
