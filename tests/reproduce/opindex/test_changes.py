"""After any insertions and deletions, lists answer like ones built afresh; insertions alone give the same lists."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduce.opindex.changes import OpIndexLists

import tocsin
from tests.index.asking import batch, compiled, pairs
from tocsin.index.boolean.scan import Scan
from tocsin.papers.opindex.opindex import OpIndexBuilder
from tocsin.papers.opindex.opindex.kernels.layouts import OpLists

TEXTS = [
    "a = 2 AND b IN (3, 6, 9)",
    "a <= 8 AND c >= 2",
    "c = 6 AND b <= 4 AND e BETWEEN 3 AND 12",
    "a = 2",
    "d >= 12 AND e <= 9",
    "b IN (3, 6) AND c <= 4 AND d >= 10 AND e <= 7",
    "a = 2 AND a = 2 AND b <> 3",
    "a = 1 OR b = 6 OR (c = 3 AND d > 10)",
    "(a = 1 OR b = 6) AND (c = 3 OR d > 10) AND (a < 3 OR c < 3)",
    "s LIKE 'ab%' AND a NOT IN (1, 3)",
    "s NOT LIKE 'ab%' OR MATCHES(s, 'c$')",
    "a NOT BETWEEN 3 AND 5",
    "FALSE",
]
EVENTS = [
    {"a": 2, "b": 6},
    {"b": 6, "c": 3, "e": 9},
    {"a": 1, "b": 3, "c": 3, "d": 12, "e": 5, "s": "abc"},
    {"a": 7, "s": "b", "c": 6},
    {"a": 2, "b": 4, "c": 6, "d": 20, "e": 6, "s": "ab"},
]


def assert_same(one: OpLists, other: OpLists) -> None:
    for name, left, right in zip(OpLists._fields, one, other, strict=True):
        for field, mine, its in zip(left._fields, left, right, strict=True):
            assert mine.dtype == its.dtype, (name, field)
            assert np.array_equal(mine, its), (name, field)


@pytest.mark.parametrize("options", [(32, 64), (1, 0), (3, 5)])
def test_insertions_give_the_lists_of_a_build(options):
    """Algorithm 1 for each subscription in turn, and a build at once."""
    rng = random.Random(2)
    texts = TEXTS + [
        " AND ".join(f"x{k} {rng.choice(['=', '<', '>='])} {rng.randrange(9)}" for k in rng.sample(range(12), 3))
        for _ in range(300)
    ]
    lists = OpIndexLists(compiled(texts), None, *options)
    for number in range(len(texts)):
        lists.insert(number)

    assert len(lists) == len(texts)
    assert_same(lists.packed(), OpIndexBuilder(*options).build(compiled(texts)).lists)


@given(
    changes=st.lists(st.integers(0, len(TEXTS) - 1), max_size=60),
    options=st.sampled_from([(32, 64), (1, 0), (2, 3)]),
)
def test_any_churn_answers_like_afresh(changes, options):
    """A number that is there goes, one that is not comes; what is found is what `scan` finds of those there."""
    expressions = compiled(TEXTS)
    lists = OpIndexLists(expressions, None, *options)
    held: set[int] = set()
    for number in changes:
        (lists.delete if number in held else lists.insert)(number)
        held ^= {number}
    given_events = batch(expressions, EVENTS)

    found = lists.match(given_events)

    everything = Scan.build(expressions).match(given_events)
    assert pairs(found) == [pair for pair in pairs(everything) if pair[1] in held]
    fresh = OpIndexLists(expressions, None, *options)
    for number in sorted(held):
        fresh.insert(number)
    afresh = fresh.match(given_events)
    assert (found.candidates_examined, found.verified) == (afresh.candidates_examined, afresh.verified)
    assert np.array_equal(lists.packed().directory.signatures, fresh.packed().directory.signatures)


def test_long_churn_of_many():
    """Thousands of changes, so that segments move, shrink and move again."""
    rng = random.Random(3)
    operators = ["=", "<=", ">=", "<>"]
    texts = [
        " AND ".join(
            f"x{k} {rng.choice(operators)} {rng.randrange(9)}" for k in rng.sample(range(8), rng.randint(1, 4))
        )
        for _ in range(400)
    ]
    expressions = compiled(texts)
    lists = OpIndexLists(expressions, None, 2, 64)
    given_events = batch(expressions, [{f"x{k}": rng.randrange(9) for k in rng.sample(range(8), 5)} for _ in range(30)])
    everything = pairs(Scan.build(expressions).match(given_events))
    held: set[int] = set()
    for turn in range(3000):
        number = rng.randrange(len(texts))
        (lists.delete if number in held else lists.insert)(number)
        held ^= {number}
        if turn % 300 == 299:
            assert pairs(lists.match(given_events)) == [pair for pair in everything if pair[1] in held]
    for number in sorted(held):
        lists.delete(number)

    assert len(lists) == 0
    assert len(lists.packed().entries.keys) == 0
    assert len(lists.match(given_events).subscriptions) == 0


@pytest.mark.parametrize("options", [(32, 64), (1, 0)])
def test_many_at_once_are_inserted_and_deleted_as_one_by_one(options):
    """In pieces of any size; a subscription of many conjunctions and predicates on one attribute is among them."""
    rng = random.Random(4)
    wide = " OR ".join(f"x1 = {k} AND x2 > {k % 5} AND x1 <> {k + 1}" for k in range(80))
    long = " AND ".join(f"x1 <> {k}" for k in range(300))
    texts = [*TEXTS, wide, long, *(f"x{k % 7} = {rng.randrange(9)} AND x{k % 5} <= {k % 3}" for k in range(400))]
    expressions = compiled(texts)
    one_by_one, at_once = OpIndexLists(expressions, None, *options), OpIndexLists(expressions, None, *options)
    for number in range(len(texts)):
        one_by_one.insert(number)
    for first in range(0, len(texts), 100):
        at_once.insert_many(range(first, min(first + 100, len(texts))))

    assert_same(at_once.packed(), one_by_one.packed())
    assert_same(at_once.packed(), OpIndexBuilder(*options).build(expressions).lists)
    gone = rng.sample(range(len(texts)), 200)
    at_once.delete_many(gone)
    given_events = batch(expressions, [*EVENTS, *({f"x{k}": rng.randrange(9) for k in range(7)} for _ in range(40))])
    everything = pairs(Scan.build(expressions).match(given_events))
    assert pairs(at_once.match(given_events)) == [pair for pair in everything if pair[1] not in set(gone)]
    at_once.insert_many(gone)
    assert pairs(at_once.match(given_events)) == everything


def test_what_is_there_or_is_not_is_said():
    """Twice in, twice out, and what was never compiled."""
    lists = OpIndexLists(compiled(TEXTS))
    lists.insert(3)
    with pytest.raises(tocsin.DuplicateSubscription, match="3 is there already"):
        lists.insert(3)
    lists.delete(3)
    with pytest.raises(tocsin.UnknownSubscription, match="no subscription 3"):
        lists.delete(3)
    with pytest.raises(tocsin.UnknownSubscription, match="no expression 99"):
        lists.insert(99)
    with pytest.raises(tocsin.DuplicateSubscription, match="5 is there already"):
        lists.insert_many([4, 5, 5])
    assert len(lists) == 0
