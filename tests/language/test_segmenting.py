"""Words are parted as Unicode's word segmentation has it, one text or many at a time."""

from __future__ import annotations

import unicodedata
from typing import Final

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from tests.naive import texts as naive
from tocsin.language.segmenting import is_alone, words_of, words_of_all
from tocsin.model.texts import Text

KEPT: Final = Text(keep_accents=True)
CASES: Final[dict[str, list[str]]] = {
    "": [],
    " \t\n": [],
    "?! … — 🍣 $": [],
    "Fresh Seafood, in Paris!": ["fresh", "seafood", "in", "paris"],
    "wi-fi #rust @ab_c AT&T C++": ["wi", "fi", "rust", "ab_c", "at", "t", "c"],
    "it's it’s l'hôtel 'quoted'": ["it's", "it's", "l'hotel", "quoted"],
    "3,000.50 10:30 1.x x.1 v1.2,": ["3,000.50", "10", "30", "1", "x", "x", "1", "v1.2"],
    "see example.com. U.S.A.": ["see", "example.com", "u.s.a"],
    "__init__ _ __": ["__init__"],
    "Straße STRASSE İstanbul ΟΔΟΣ": ["strasse", "strasse", "istanbul", "οδοσ"],
    "Café cafe\u0301 Chișinău Йод": ["cafe", "cafe", "chisinau", "иод"],
    "日本カタカナ語 ひら 1日": ["日", "本", "カタカナ", "語", "ひ", "ら", "1", "日"],
    "คุณ ดี": ["คุ", "ณ", "ดี"],
    "한국어 말": ["한국어", "말"],
    "हिन्दी कुल कल": ["हिन्दी", "कुल", "कल"],
    "sea\u00adfood zero\u200dwidth apart\u200bspace": ["seafood", "zerowidth", "apart", "space"],
    "a\x00b": ["a", "b"],
    "½ m² ①": ["½", "m", "²", "①"],
}
LETTERS: Final = st.sampled_from("aBz09_ .,:;'-’é\u0301ßñабЙאבدहिन्คั日本カーひ한ⅣⅠ²½٣೪〇\u00ad\u200b🍣\x00")


@pytest.mark.parametrize("text", CASES)
def test_words(text: str) -> None:
    """What is parted, what is joined, what is no word, and what becomes of letters."""
    assert words_of(text) == CASES[text]


def test_accents_are_kept_where_that_is_said() -> None:
    """Of letters that are composed and of those that are not."""
    assert words_of("CAFÉ cafe\u0301", KEPT) == ["café", "café"]


@given(st.lists(st.text(LETTERS, max_size=12), max_size=6), st.sampled_from([Text(), KEPT]))
def test_many_texts_at_a_time(texts: list[str], how: Text) -> None:
    """Have the words of each."""
    words = words_of_all(texts, how)
    bounds = zip(words.starts[:-1], words.starts[1:], strict=True)

    assert [[words.distinct[n] for n in words.numbers[a:b]] for a, b in bounds] == [words_of(one, how) for one in texts]


@given(st.text(st.one_of(LETTERS, st.characters(max_codepoint=0x33FF)), max_size=12))
@example("0\u20600")
@example("ＵＳＢ ｶﾞｽ Łódź Ǿ ｶ ﾞ")
def test_words_are_those_of_the_oracle(text: str) -> None:
    """Which looks at one character after the other."""
    assert words_of(text) == naive.words(text)


@given(st.lists(st.text("aBz09_.,:;'éßñабЙд日本ひ한٣೪ -", max_size=8), max_size=5))
def test_words_are_those_of_another_library(parts: list[str]) -> None:
    """The segments of `regex` that have a letter or a digit, whatever comes between.

    It joins an apostrophe to a vowel behind it, as French has it, also where no letter is before; UAX 29 does not.
    """
    text = " ".join(parts)
    folded = unicodedata.normalize("NFC", text.casefold())
    segments = [one.lstrip("'") for one in regex.split(r"(?w)\b", folded)]

    assert words_of(text, KEPT) == [one for one in segments if regex.search(r"[\p{L}\p{N}]", one)]


@pytest.mark.parametrize("letter", "寿ひส〇")
def test_letters_that_are_words(letter: str) -> None:
    """Of scripts that put no spaces between words."""
    assert is_alone(letter) and not is_alone("a") and not is_alone("カ") and not is_alone("한")


def test_words_of_a_language() -> None:
    """Stop words are left out before accents are, and stems are of what is left."""
    english, french = Text("english", stem=True), Text("french", stem=True, drop_stop_words=True)

    assert words_of("des chevaux à la mer, l'été", french) == ["cheval", "mer", "ete"]
    assert words_of("The running shoes of Ann", english) == ["the", "run", "shoe", "of", "ann"]
    assert words_of("The running shoes of Ann", Text("english", drop_stop_words=True)) == ["running", "shoes", "ann"]
    assert words_of_all(["of the", "a shoe"], Text("english", drop_stop_words=True)).starts.tolist() == [0, 0, 1]


def test_every_character_behind_a_digit_is_what_the_oracle_says() -> None:
    """Letters of scripts without spaces are words of their own, whatever language of the script they are of."""
    characters = [chr(code) for code in range(0xFE00) if not 0xD800 <= code < 0xE000]

    assert [one for one in characters if words_of(f"0{one}") != naive.words(f"0{one}")] == []
