"""Cutting of a text into separators and words, with the marks of the words."""

from __future__ import annotations

from string import whitespace

from tocsin.language.words import (
    INSTANTS,
    NUMBERED,
    OPEN,
    SHAPES,
    SOME,
    SPECIAL,
    find_shapes,
    fixed_word,
    has_shape,
    kind_of_word,
    split_words,
    split_words_and_shapes,
)
from tocsin.model.elements import ELEMENT


def cut(text: str) -> tuple[list[str], list[str], list[str]]:
    """The separators and words of a text, alternating; its words; and the mark of each word."""
    split = split_words_and_shapes if "((" in text and has_shape(text) else split_words
    parts = split(text)
    words = parts[1::2]
    marks = _marks(words)
    if SPECIAL.isdisjoint(marks):  # few texts have any
        return parts, words, marks if split is split_words else _with_shapes(words, marks)
    if split is split_words and not SHAPES.isdisjoint(marks):
        parts = split_words_and_shapes(text)
        words = parts[1::2]
        marks = _marks(words)
    marks = _with_shapes(words, marks)
    if SOME in marks:
        marks = [ELEMENT if word == ELEMENT else mark for word, mark in zip(words, marks, strict=True)]
    for at, mark in enumerate(marks):
        number = at + NUMBERED.get(mark, 0)
        if number > at and marks[number : number + 1] == ["n"]:
            marks[number] = words[number].strip(whitespace)
        if mark in INSTANTS:
            kind, count = INSTANTS[mark]
            for argument in range(at + 1, min(at + 1 + count, len(marks))):
                if marks[argument] == "s":
                    marks[argument] = OPEN if words[argument] == OPEN and count > 1 else kind
    return parts, words, marks


def _marks(words: list[str]) -> list[str]:
    """Keywords and functions in capitals, without spaces; the kinds of other words."""
    return [
        fixed_word(one) or (one.upper().replace(" ", "") if one[-1] == "(" else kind_of_word(one[0], "a"))
        for one in words
    ]


def _with_shapes(words: list[str], marks: list[str]) -> list[str]:
    return ["g" if word[-1] == ")" else mark for word, mark in zip(words, marks, strict=True)]


def shapes_in(text: str) -> list[str]:
    """The shapes with two parentheses in a text, and perhaps in its strings."""
    return find_shapes(text) if "((" in text and has_shape(text) else []
