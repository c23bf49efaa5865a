"""Patterns are access keys: an event is held against those that its strings fit, not against all."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.asking import asked, assert_access_is_scan, batch, compiled, pairs
from tocsin.index.boolean.access import Access
from tocsin.kernels.codes import LANES

N = 3000
WORDS = [f"{word:04d}" for word in range(N)]
SHAPES = {
    "prefix": "s LIKE 'w{k}%'",
    "suffix": "s LIKE '%{k}'",
    "substring": "s LIKE '%-{k}-%'",
    "whole": "s LIKE 'w{k}-{k}-{k}'",
    "pieces": "s LIKE 'w%-{k}-_%'",
    "regular expression": "MATCHES(s, '^w{k}-.*[0-9]$')",
    "prefix and more": "s LIKE 'w{k}%' AND n >= 0",
    "either": "s LIKE 'w{k}%' OR s LIKE '%{k}'",
    "folded": "CASEI(s) LIKE CASEI('W{k}%')",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_only_patterns_that_fit_are_examined(shape: str) -> None:
    """One in 3,000 for each string."""
    events: list[dict[str, Any]] = [{"s": f"w{k}-{k}-{k}", "n": 1} for k in WORDS[:5]] + [
        {"s": "x"},
        {"n": 1},
        {"s": 7},
    ]
    found = asked([SHAPES[shape].format(k=k) for k in WORDS], events)
    assert pairs(found)[:5] == [(e, e) for e in range(5)]
    assert found.candidates_examined == (10 if shape == "either" else 5)


def test_negated_patterns_and_patterns_without_a_piece_are_verified() -> None:
    texts = ["NOT (s LIKE 'a%')", "s LIKE '_%'", "s LIKE '%'", "s LIKE ''", "NOT (MATCHES(s, 'b'))", "MATCHES(s, '.')"]
    found = asked(texts, [{"s": ""}, {"s": "ab"}, {"s": "c"}, {"s": 1}, {}])
    assert pairs(found) == [
        (0, 0),
        (0, 2),
        (0, 3),
        (0, 4),
        (1, 1),
        (1, 2),
        (1, 5),
        (2, 0),
        (2, 1),
        (2, 2),
        (2, 4),
        (2, 5),
    ]


def test_patterns_under_transforms() -> None:
    """CASEI(s) and s are two texts, and only the right one counts."""
    texts = ["CASEI(s) LIKE CASEI('Ab%')", "s LIKE 'Ab%'", "MATCHES(CASEI(s), 'b.$')", "MATCHES(s, 'b.$')"]
    found = asked(texts, [{"s": "abX"}, {"s": "AbX"}, {"s": "ABx"}])
    assert pairs(found) == [(0, 0), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 2)]


def test_patterns_on_several_attributes() -> None:
    """Equal patterns are one pattern, under a key for each attribute."""
    texts = [f"{name} LIKE '{letter}%'" for name in "stu" for letter in "abc"]
    found = asked(texts, [{"s": "ab", "t": "b", "u": "c"}, {"t": "a"}, {"s": "d"}])
    assert pairs(found) == [(0, 0), (0, 4), (0, 8), (1, 3)]


def test_a_string_that_fits_more_patterns_than_there_was_room_for() -> None:
    """Small batches reuse a thread's memory without counting: not those with fitting patterns."""
    expressions = compiled([f"s LIKE '%{'a' * k}%'" for k in range(1, 400)] + ["n = 1"])
    access = Access.build(expressions)
    assert len(access.match(batch(access, [{"n": 1}])).subscriptions) == 1
    events = [{"s": "a" * 500}] * (LANES + 3)
    assert len(access.match(batch(access, events)).subscriptions) == 399 * (LANES + 3)


def test_told_in_the_words_of_the_language() -> None:
    texts = ["s LIKE 'a\\%b_%'", "MATCHES(s, 'x+y')", "ACCENTI(s) LIKE ACCENTI('é%')"]
    access = Access.build(compiled(texts))
    assert "under s LIKE 'a\\%b_%'" in access.place(0)
    assert "under MATCHES(s, 'x+y')" in access.place(1)
    assert "under ACCENTI(s) LIKE 'e%'" in access.place(2)


def test_saved_and_loaded() -> None:
    expressions = compiled(SHAPES[shape].format(k=k) for shape in SHAPES for k in WORDS[:50])
    loaded = Access.load(Access.build(expressions).arrays())
    again = Access.build(loaded.expressions())
    events = batch(expressions, [{"s": f"w{k}-{k}-{k}", "n": 1} for k in WORDS[:60]])
    expected = assert_access_is_scan(expressions, events)
    for access in (loaded, again):
        assert pairs(access.match(events)) == pairs(expected)


@given(st.integers(0, 2**32 - 1))
def test_random_patterns_beside_other_predicates(seed: int) -> None:
    rng = random.Random(seed)

    def piece() -> str:
        return "".join(rng.choices("ab%_é", (4, 4, 2, 1, 1), k=rng.randint(0, 5)))

    def predicate() -> str:
        name = rng.choice(["s", "t", "CASEI(s)"])
        kind = rng.randint(0, 4)
        if kind == 0:
            return f"MATCHES({name}, '{rng.choice(['a+b', '^b', 'ab|é', 'b.b', '(ab)+a'])}')"
        if kind == 1:
            return f"n {rng.choice(['=', '<', '>='])} {rng.randint(0, 3)}"
        return f"{'NOT ' if kind == 2 else ''}({name} LIKE '{piece()}')"

    texts = [f" {rng.choice(['AND', 'OR'])} ".join(predicate() for _ in range(rng.randint(1, 3))) for _ in range(30)]
    words = ["".join(rng.choices("abAé", k=rng.randint(0, 6))) for _ in range(12)]
    events = [{"s": rng.choice(words), "t": rng.choice([*words, 3]), "n": rng.randint(0, 3)} for _ in range(70)]
    asked(texts, events)
