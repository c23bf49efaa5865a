"""Query strings at random: tocsin finds what Lucene's own parsers find, and rejects what they reject."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.dialects.agreeing import matched
from tests.naive.lucene import FOLDER, Lucene, jars

_WORDS: Final = ["a", "b", "c", "d", "a-b", "ab"]
_CLASSIC: Final = [
    *_WORDS, *_WORDS, "AND", "OR", "NOT", "&&", "||", "+", "-", "!", "(", ")", "(", ")", '"a b"', '"b"', '"', "^2", "^",
    ":", "\\", "\\(", "*", "title:", "[a TO c]", "{a TO *}", "[", "*:* ", "a*", "?b", "/a|b/", "/", "TO", "\\u0061",
    "  ", "\t", "~", "&", "]",
]  # fmt: skip
_SIMPLE: Final = [
    *_WORDS,
    *_WORDS,
    "+",
    "|",
    "-",
    "(",
    ")",
    '"a b"',
    '"',
    "*",
    "\\",
    "~",
    "~1",
    " ",
    "  ",
    "--",
    "()",
    '""',
]
_OTHER_FIELD: Final = re.compile(r"\*\s*:(?!\*)|\*:\*\S")
"""All fields, which Elasticsearch reads as a name of a field, and Lucene does not."""
_DOCUMENTS: Final = [
    {"title": text} for text in ("a", "b", "c", "d", "ab", "a b", "b a", "c d", "a b c", "b c d", "a ab d", "a b c d")
]
_REFUSED: Final = ("slop of", "fuzziness of", " in regexp", "the pattern", "an alternative is empty")
_SINGLE: Final = 5
"""So many documents have one word, of which a pattern is about the word and the whole text."""


@pytest.fixture(scope="module")
def index() -> Iterator[Any]:
    if not jars() and not os.environ.get("CI"):
        pytest.skip(f"there is no Lucene in {FOLDER}; on Debian or Ubuntu: sh scripts/oracles.sh")
    engine = Lucene()
    yield engine.index(_DOCUMENTS)
    engine.close()


def _strings(random: Random, signs: list[str]) -> Iterator[str]:
    for _ in range(20):
        yield "".join(random.choice(signs) + random.choice(["", " ", " "]) for _ in range(random.randrange(1, 9)))


def _agree(index: Any, random: Random, kind: str, signs: list[str]) -> None:
    operator, least = random.choice(["OR", "AND"]), random.choice([None, None, 1, 2, "-1", "50%"])
    texts = list(_strings(random, signs))
    body = {"fields": ["title"], "default_operator": operator, "minimum_should_match": least}
    queries = [{kind: {"query": text, **body}} for text in texts]

    ours, refused = matched(queries, "elasticsearch", _DOCUMENTS)

    is_simple = kind == "simple_query_string"
    for number, text in enumerate(texts):
        is_refused = any(name in refused.get(number, "") for name in _REFUSED)
        if is_refused or not text.strip() or _OTHER_FIELD.search(text):
            continue
        theirs = index.matching_string(text.replace("title:", r"text\:title:"), operator, least, is_simple=is_simple)
        found = ours.get(number)
        if found is not None and theirs is not None and re.search(r"[*?/\[{]", text):
            found, theirs = ({one for one in answer if one < _SINGLE} for answer in (found, theirs))
        assert found == theirs, (text, operator, least, refused.get(number))


@given(random=st.randoms(use_true_random=True))
def test_query_strings_agree_with_lucene(index: Any, random: Random) -> None:
    """Each query string matches the documents that Lucene finds, or both reject it."""
    _agree(index, random, "query_string", _CLASSIC)


@given(random=st.randoms(use_true_random=True))
def test_simple_query_strings_agree_with_lucene(index: Any, random: Random) -> None:
    """Each simple query string matches the documents that Lucene finds."""
    _agree(index, random, "simple_query_string", _SIMPLE)
