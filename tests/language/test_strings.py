"""CASEI, ACCENTI, LIKE and MATCHES on strings."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.language import fold_case, like_matches, like_regex, regex_problem, strip_accents

LETTERS = st.text(alphabet="ab%_\\.*\n(é\U0001f514", max_size=8)


@given(LETTERS, LETTERS)
@settings(max_examples=300, deadline=None)
def test_like_agrees_with_its_regular_expression(pattern: str, text: str) -> None:
    """The matcher, Python's fullmatch and RE2 give one answer for a LIKE pattern."""
    regex = like_regex(pattern)
    by_re2 = pc.match_substring_regex(pa.array([text], pa.string()), regex)[0].as_py()

    assert like_matches(pattern, text) == (re.fullmatch(regex, text) is not None) == by_re2


@given(LETTERS)
def test_an_escaped_text_is_like_itself_only(text: str) -> None:
    """With every special letter escaped, LIKE is equality."""
    pattern = re.sub(r"([%_\\])", r"\\\1", text)

    assert like_matches(pattern, text)
    assert not like_matches(pattern, text + "a")


def test_like_does_not_explode() -> None:
    """Many `%` cost no more than the product of the lengths."""
    assert not like_matches("%a" * 50 + "%b", "a" * 2_000)


@given(st.text())
def test_folding_and_stripping_once_is_enough(text: str) -> None:
    """CASEI and ACCENTI of their own result change nothing."""
    assert fold_case(fold_case(text)) == fold_case(text)
    assert strip_accents(strip_accents(text)) == strip_accents(text)


def test_accents_and_case() -> None:
    """Letters lose their marks and nothing else; case folds as Unicode says."""
    assert strip_accents("Chișinău ÀÉÎõü ß ø Łódź Đorđe Ǿ") == "Chisinau AEIou ß o Lodz Dorde O"
    assert strip_accents("æ þ ð ŋ ı") == "æ þ ð ŋ ı"  # letters of their own
    assert strip_accents("e\u0301") == "e"
    assert fold_case("Straße ΣΑΣ") == "strasse σασ"


@pytest.mark.parametrize(("pattern", "problem"), [("(", "missing )"), ("a{2,1}", "repetition"), (r"(?=x)", "(?=")])
def test_re2_says_what_is_wrong(pattern: str, problem: str) -> None:
    """A regular expression beyond RE2's syntax comes with RE2's own reason."""
    assert problem in regex_problem(pattern)
    assert regex_problem("a.*[0-9]") is None
