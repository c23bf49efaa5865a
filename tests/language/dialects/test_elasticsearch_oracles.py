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
    "rounding in date maths",
    "the unit M in date maths",
    "time_zone",
    "minimum_should_match with the operator and",
    "\\d in regexp",
    "a range of letters with case_insensitive",
)
"""What the generated queries have and tocsin refuses."""


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
