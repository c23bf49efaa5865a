"""Segmentation of text into words: Unicode's rules, then the settings of a `Text`.

It follows UAX 29 with Python's character tables; a run without letters and digits is not a word. Departures: symbols
and emoji are not words, characters that only control display are dropped, and `don’t` is `don't`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.language.strings import without_strokes
from tocsin.model.texts import PLAIN, Text, analyzer_of

_END: Final = "\x00"
"""The separator of texts that are segmented together."""


class Words(NamedTuple):
    """The words of texts, end to end. T texts of W words, D distinct."""

    distinct: list[str]
    numbers: NDArray[np.int64]  # (W,) into `distinct`, in the order of the texts
    starts: NDArray[np.int64]  # (T + 1,)


def words_of(text: str, how: Text = PLAIN) -> list[str]:
    """The words of one text, in order.

    >>> words_of("It’s a CAFÉ: 3,000.50 m in São Paulo!")
    ["it's", 'a', 'cafe', '3,000.50', 'm', 'in', 'sao', 'paulo']
    >>> words_of("wi-fi #rust @ab_c 日本カレー", Text(keep_accents=True))
    ['wi', 'fi', 'rust', 'ab_c', '日', '本', 'カレー']
    """
    folded = _folded(text)
    found = [word for word in _pattern(folded.isascii()).findall(folded) if word != _END]
    return [form for form in _forms(found, how) if form]


def words_of_all(texts: Sequence[str], how: Text = PLAIN) -> Words:
    """The words of several texts, each in order. Cost: some hundred nanoseconds a word."""
    whole = _END.join(texts)
    if whole.count(_END) >= len(texts) > 0:
        whole = _END.join(text.replace(_END, " ") for text in texts)
    whole = _folded(whole)
    numbers = _Numbers()
    found = np.array(list(map(numbers.__getitem__, _pattern(whole.isascii()).findall(whole))), np.int64)
    ends = np.flatnonzero(found == 0)
    starts = np.concatenate([[0], ends - np.arange(len(ends)), [len(found) - len(ends)]])[: len(texts) + 1]
    words = list(numbers)[1:]
    forms = _forms(words, how)
    return _with_forms(Words(words, np.delete(found, ends) - 1, starts), forms)


def is_alone(word: str) -> bool:
    """Whether a word is a single letter of a script without spaces between words.

    >>> is_alone("寿"), is_alone("a")
    (True, False)
    """
    return _LETTER_ALONE.match(word) is not None


class _Numbers(dict[str, int]):
    """Numbers for words in order of first appearance; 0 is the separator of texts."""

    def __init__(self) -> None:
        super().__init__({_END: 0})

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def _with_forms(words: Words, forms: Sequence[str]) -> Words:
    """Replace words by their forms, which may coincide. Words with an empty form are dropped."""
    if forms == words.distinct:
        return words
    distinct = list(dict.fromkeys(filter(None, forms)))
    places = {form: place for place, form in enumerate(distinct)} | {"": -1}
    numbers = np.array([places[form] for form in forms], np.int64)[words.numbers]
    kept = np.concatenate([[0], np.cumsum(numbers >= 0)])
    return Words(distinct, numbers[numbers >= 0], kept[words.starts])


def _forms(words: Sequence[str], how: Text) -> list[str]:
    """The forms of distinct words; empty for a word that does not count."""
    forms = ["" if word.strip("_") == "" else word for word in words]
    if how.drop_stop_words:
        kept = set(analyzer_of("stopword", str(how.language)).analyze(" ".join(forms)))
        forms = [form if form in kept else "" for form in forms]
    if how.stem:
        stems = iter(analyzer_of("stemmer", str(how.language)).analyze(" ".join(forms)))
        forms = [next(stems) if form else "" for form in forms]
    return forms if how.keep_accents else [_without_accents(form) for form in forms]


def _folded(text: str) -> str:
    """Fold a text: no case, Unicode's composed form, no invisible characters, letters in their usual width."""
    if text.isascii():
        return text.lower()
    text = _OTHER_WIDTHS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    return _UNSEEN.sub("", folded).replace("’", "'").replace("＇", "'")


def _without_accents(word: str) -> str:
    """Remove the accents of Latin, Greek and Cyrillic letters. The vowel signs of other scripts stay."""
    if word.isascii():
        return word
    return without_strokes(unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word))))


_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_OTHER_WIDTHS: Final = re.compile("[\uff01-\uffee]+")
"""Full-width and half-width forms: ＵＳＢ, ｽｼ."""
_UNSEEN: Final = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")

_IN_WORDS: Final = ".:'‘·\u0387\u055f\u05f4‧․﹒．︓﹕："
_IN_NUMBERS: Final = ".,;'‘\u037e\u0589\u060c\u060d\u066c\u07f8⁄․﹒．︐︔﹐﹔，；"
"""Characters that do not break between two letters (MidLetter, MidNumLet) or two digits (MidNum, MidNumLet)."""


@cache
def _pattern(of_ascii: bool) -> re.Pattern[str]:
    """The pattern that finds a word, or the end of a text."""
    if of_ascii:
        return re.compile(f"{_PLAINLY}|{_run('a-z', '0-9', '_', '')}|{_END}")
    by_category = _categories()
    letters = _ranges(by_category, "Ll", "Lu", "Lt", "Lm", "Lo", "Nl")
    digits, joins, marks = (_ranges(by_category, *names) for names in (("Nd",), ("Pc",), ("Mn", "Mc", "Me")))
    alone = _ALONE + _ranges(by_category, "No")
    run = _run(letters, digits, joins, marks)
    known = f"{run}|[{_KATAKANA}][{_KATAKANA}{marks}]*|[{alone}][{marks}]*"
    return re.compile(f"{_PLAINLY}|(?=[a-z0-9_\x80-\U0010ffff])(?:{known})|{_END}")


_PLAINLY: Final = "[a-z0-9_]++(?![.,:;'\x80-\U0010ffff])"
"""An ASCII word followed by nothing that might extend it.

Most words are, and need no test of a long character class.
"""


def _run(letters: str, digits: str, joins: str, marks: str) -> str:
    """The pattern of a word of letters and digits, with marks on them."""
    within, between = f"[{_IN_WORDS}]", f"[{_IN_NUMBERS}]"
    either = "".join(sorted({*_IN_WORDS, *_IN_NUMBERS}))
    joined = f"(?:(?<=[{letters}{marks}]{within})(?=[{letters}])|(?<=[{digits}{marks}]{between})(?=[{digits}]))"
    first = f"[{letters}{digits}{joins}]"
    rest = f"[{letters}{digits}{joins}{marks}]"
    return f"{first}{rest}*(?:[{either}]{joined}{rest}+)*"


_KATAKANA: Final = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_ALONE: Final = (
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46"  # Thai, then Lao
    "\u0e81-\u0e82\u0e84\u0e86-\u0e8a\u0e8c-\u0ea3\u0ea5\u0ea7-\u0eb0\u0eb2-\u0eb3\u0ebd\u0ec0-\u0ec4\u0ec6\u0edc-\u0edf"
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065-\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Burmese
    "\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e-\uaa7f\u1780-\u17b3\u17d7\u17dc"  # and Khmer
    "\u3007\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufa6d\ufa70-\ufad9\U00020000-\U0003ffff"  # Han
)
"""Letters that are each a word, since their scripts put no spaces between words."""
_LETTER_ALONE: Final = re.compile(f"[{_ALONE}]")
_KNOWN: Final = re.compile(f"[{_KATAKANA}{_ALONE}]")
_ASSIGNED: Final = 0x20000
"""Letters beyond this are ideographs."""


def _categories() -> dict[str, list[int]]:
    """Characters by category, without those that form words by other rules."""
    found: dict[str, list[int]] = {}
    for code in range(_ASSIGNED):
        found.setdefault(unicodedata.category(chr(code)), []).append(code)
    for category in ("Lm", "Lo", "Nl"):
        found[category] = [code for code in found[category] if not _KNOWN.match(chr(code))]
    return found


def _ranges(by_category: dict[str, list[int]], *categories: str) -> str:
    """The characters of some categories as ranges of a regular expression."""
    codes = np.array(sorted(code for category in categories for code in by_category[category]))
    firsts = np.flatnonzero(np.diff(codes, prepend=-2) > 1)
    lasts = np.append(firsts[1:], len(codes)) - 1
    pairs = zip(codes[firsts].tolist(), codes[lasts].tolist(), strict=True)
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in pairs)
