"""Does a text have these words, side by side where that is asked? Character by character, as Unicode parts words."""

from __future__ import annotations

import unicodedata
from typing import Final

APART: Final = ("CJK ", "HIRAGANA", "THAI", "LAO", "MYANMAR", "KHMER", "IDEOGRAPHIC NUMBER")
"""Scripts of which each letter is a word, by how the names of their letters begin."""
UNSEEN: Final = "\u00ad\ufeff" + "".join(
    chr(code)
    for first, last in ((0x200C, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0xFE00, 0xFE0F))
    for code in range(first, last + 1)
)
"""Joiners, marks of direction, invisible operators and variation selectors: they part no word (UAX 29, WB4)."""
BETWEEN_LETTERS: Final = ".:'‘·‧"
BETWEEN_DIGITS: Final = ".,;'‘،٫"


def words(text: str) -> list[str]:
    """The words of a text in order, without case and accents, full and half width forms in their usual width."""
    wide = [letter if 0xFF00 < ord(letter) < 0xFFEF else " " for letter in text]
    for run in sorted(filter(None, "".join(wide).split(" ")), key=len, reverse=True):
        text = text.replace(run, unicodedata.normalize("NFKC", run))
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).replace("’", "'")
    letters = [letter for letter in text if letter not in UNSEEN]
    kinds = [_kind(letter) for letter in letters]
    found: list[str] = []
    at = 0
    while at < len(letters):
        end = at + 1
        if kinds[at] in ("letter", "digit", "join"):
            while end < len(letters) and (
                kinds[end] in ("letter", "digit", "join", "mark") or _joins(letters, kinds, end)
            ):
                end += 1
        elif kinds[at] in ("apart", "katakana"):
            while end < len(letters) and (kinds[end] == "mark" or kinds[end] == kinds[at] == "katakana"):
                end += 1
        if kinds[at] and kinds[at] != "mark":
            found.append("".join(letters[at:end]))
        at = end
    return [_bare(word) for word in found if any(_kind(letter) != "join" for letter in word)]


def _kind(letter: str) -> str:
    category, name = unicodedata.category(letter), unicodedata.name(letter, "")
    if category[0] == "M":
        return "mark"
    if category == "No" or (category[0] in "LN" and category != "Nd" and name.startswith(APART)):
        return "apart"
    if category[0] == "L" and "KATAKANA" in name:
        return "katakana"
    if category[0] == "L" or category == "Nl":
        return "letter"
    return {"Nd": "digit", "Pc": "join"}.get(category, "")


def _joins(letters: list[str], kinds: list[str], at: int) -> bool:
    """Whether a mark of punctuation stands within a word."""
    if at + 1 == len(letters):
        return False
    before = next(kind for kind in reversed(kinds[:at]) if kind != "mark")
    if before != kinds[at + 1]:
        return False
    return letters[at] in {"letter": BETWEEN_LETTERS, "digit": BETWEEN_DIGITS}.get(before, "")


def _bare(word: str) -> str:
    kept = [letter for letter in unicodedata.normalize("NFD", word) if not 0x300 <= ord(letter) < 0x370]
    return unicodedata.normalize("NFC", "".join(map(letter_of, kept)))


def letter_of(form: str) -> str:
    """The letter of Latin that another one is a form of, by its name; any other character itself."""
    of, with_, _ = unicodedata.name(form, "").partition(" WITH ")
    *script, letter = of.split(" ")
    if with_ and script in (["LATIN", "SMALL", "LETTER"], ["LATIN", "CAPITAL", "LETTER"]) and len(letter) == 1:
        plain = letter.lower() if script[1] == "SMALL" else letter
        return form if unicodedata.decomposition(form) else plain
    return form


def text(value: object, query: object, settings: object = "plain") -> bool | None:
    """Whether a string, or a list of strings, has all words of a query and its phrases, each within one string."""
    if settings != "plain" or not isinstance(query, str):
        raise ValueError(f"the oracle knows no language: {settings!r}")
    if not isinstance(value, str | tuple):
        return None
    lines = [words(one) for one in ((value,) if isinstance(value, str) else value) if isinstance(one, str)]
    asked: list[list[str]] = []
    for number, part in enumerate(query.split('"')):
        if number % 2:
            asked.append(words(part))
        else:
            for run in part.split():
                own = words(run)
                is_apart = any(_kind(letter) == "apart" for letter in run)
                asked.extend([own] if is_apart else [[word] for word in own])
    return all(any(_has(line, phrase) for line in lines) for phrase in asked if phrase)


def _has(line: list[str], phrase: list[str]) -> bool:
    return any(line[at : at + len(phrase)] == phrase for at in range(len(line)))
