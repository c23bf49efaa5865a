"""Generated queries of Elasticsearch: tocsin answers as a naive reading of the manual does, and as Lucene does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.dialects.agreeing import disagreements, matched
from tests.language.dialects.elasticsearch_rules import document, query
from tests.naive.elasticsearch_reading import matches
from tests.naive.elasticsearch_values import NotRead
from tests.naive.lucene import FOLDER, Lucene, NotInLucene, jars

REFUSED: Final = (
    "time_zone",
    "minimum_should_match with the operator and",
    "\\d in regexp",
    "a range of letters with case_insensitive",
)
"""What the generated queries have and tocsin refuses."""


_TEXTS: Final = [
    "don't",
    "foo_bar",
    "3.5 1,000",
    "a.b x:y",
    "O’Neil",
    "naïve Å É e\u0301",
    "日本語 東京",
    "カタカナ かな",
    "한국어",
]
_TEXTS.extend(
    [
        "ไทยภาษา",
        "c++ c#",
        "@user #tag",
        "a-b e.g. U.S.A.",
        "2024-05-31 12:30",
        "10.0.0.1",
        "http://x.org/a_b",
        "x\u00adsoft",
    ]
)
_TEXTS.extend(
    [
        "zero\u200bwidth",
        "tab\tb",
        "a'b'c 'quoted'",
        "१२ ٣",
        "foo.bar foo,bar",
        "1.a a.1 1a",
        "_x_ __ -",
        "a·b l·l",
        "שלום",
    ]
)
_TEXTS.extend(["ג'ירפה", "العربية", "и́ Й", "K Å K", "soft x", "bar foo", "user", "1 a", "tag", "B C"])


@pytest.fixture(scope="module")
def lucene() -> Iterator[Lucene]:
    if not jars() and not os.environ.get("CI"):
        pytest.skip(f"there is no Lucene in {FOLDER}; on Debian or Ubuntu: sh scripts/oracles.sh")
    engine = Lucene()
    yield engine
    engine.close()


def generated(random: Random) -> tuple[list[Any], list[Any]]:
    return [query(random) for _ in range(30)], [document(random) for _ in range(20)]


@given(st.randoms(use_true_random=True))
def test_generated_queries_agree_with_the_naive_reading(random: Random) -> None:
    """Each query matches the documents that the naive reading says, or is refused by name."""
    queries, documents = generated(random)

    def read(one: Any) -> set[int]:
        return {number for number, this in enumerate(documents) if matches(one, this)}

    differences, refused = disagreements(queries, "elasticsearch", documents, read)

    assert not differences[:3]
    assert all(any(f"{name} of" in reason for name in REFUSED) for reason in refused.values()), refused


def in_lucene(lucene: Lucene, queries: list[Any], documents: list[Any]) -> list[tuple[Any, set[int]]]:
    """The queries that are translated to Lucene's, and which documents they match."""
    index = lucene.index(documents)
    found = []
    for one in queries:
        try:
            found.append((one, index.matching(one)))
        except NotInLucene:
            continue
    return found


@given(random=st.randoms(use_true_random=True))
def test_generated_queries_agree_with_lucene(lucene: Lucene, random: Random) -> None:
    """Each query without dates and nested objects matches the documents that Lucene finds."""
    queries, documents = generated(random)
    theirs = in_lucene(lucene, queries, documents)

    ours, _ = matched([one for one, _ in theirs], "elasticsearch", documents)

    assert len(theirs) >= 5
    assert [(theirs[number], found) for number, found in ours.items() if found != theirs[number][1]] == []


@given(random=st.randoms(use_true_random=True))
def test_naive_reading_agrees_with_lucene(lucene: Lucene, random: Random) -> None:
    """The naive reading of a query finds the documents that Lucene finds."""
    queries, documents = generated(random)
    for one, theirs in in_lucene(lucene, queries, documents):
        try:
            assert {number for number, this in enumerate(documents) if matches(one, this)} == theirs, one
        except NotRead:
            continue


def test_words_agree_with_lucene(lucene: Lucene) -> None:
    """Words of many scripts, and with signs among them, are found where Lucene's standard analyzer finds them."""
    documents = [{"title": text} for text in _TEXTS]
    queries = [{kind: {"title": text}} for text in _TEXTS for kind in ("match", "match_phrase")]
    index = lucene.index(documents)

    ours, refused = matched(queries, "elasticsearch", documents)

    assert not refused
    assert [
        (query, ours[number]) for number, query in enumerate(queries) if ours[number] != index.matching(query)
    ] == []


def test_patterns_of_no_letters_agree_with_lucene(lucene: Lucene) -> None:
    """A wildcard of no letters finds nothing; a prefix and an expression of none find what they say."""
    documents = [{"f": ""}, {"f": "a"}, {"f": ["", "b"]}, {}]
    queries = [{kind: {"f": text}} for kind in ("wildcard", "prefix", "term") for text in ("", "?", "*", "a")]
    queries += [{"regexp": {"f": text}} for text in ("", "a")]

    theirs = in_lucene(lucene, queries, documents)
    ours, _ = matched([query for query, _ in theirs], "elasticsearch", documents)

    assert (queries[0], set()) in theirs
    assert [(theirs[number], found) for number, found in ours.items() if found != theirs[number][1]] == []
    assert [(query, {n for n, this in enumerate(documents) if matches(query, this)}) for query, _ in theirs] == theirs
