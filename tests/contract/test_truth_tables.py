"""Truth tables: every way to join TRUE, FALSE and UNKNOWN, every bound of a range, every order of two intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

import tocsin
from tests.contract.test_matchers import Asked, answers
from tests.naive import match as naive
from tests.naive.flatten import flatten
from tests.naive.truth import truth
from tocsin import parse
from tocsin.language import evaluate
from tocsin.language.operators.temporal import TEMPORAL_FUNCTIONS

pytestmark = pytest.mark.quick("a fault of an operator or a kernel is to show between two edits")

CONSTANTS: Final = ("TRUE", "FALSE", "1 = 'x'")
"""The third is UNKNOWN, since its types differ."""
OF_EVENTS: Final = ("x > 1", "s LIKE 'a%'", "x + y > 2", "s IN ('a', 'b')", "x BETWEEN 1 AND 2", "flag")
EVENTS: Final = (
    {"x": 1, "y": 1, "s": "a", "flag": True},
    {"x": 2, "y": 1, "s": "b", "flag": False},
    {"x": 3, "y": -1, "s": "ab"},
    {"x": 0, "flag": "yes"},
    {"s": "c"},
    {"x": "a", "s": 1, "y": True},
    {},
)
INDEXES: Final = ("scan", "access")


def joined() -> Iterator[str]:
    """Conditions of one, two and three parts, one of them a constant."""
    parts = [*CONSTANTS, *OF_EVENTS]
    for first, second in itertools.product(parts, parts):
        for op in ("AND", "OR"):
            yield f"{first} {op} {second}"
            yield f"NOT ({first} {op} {second})"
            yield f"({first} {op} NOT {second}) IS NULL"
    for constant, first, second in itertools.product(CONSTANTS, OF_EVENTS[:3], OF_EVENTS[2:]):
        for op, other in (("AND", "OR"), ("OR", "AND")):
            yield f"NOT ({first} {op} NOT ({constant} {other} {second}))"
            yield f"AT_LEAST(2, {constant}, {first}, NOT {second})"


def ranges() -> Iterator[str]:
    """Comparisons with a value on each side of every bound, and with what has another type."""
    for low, high in itertools.product((0, 1, 2, "'a'"), (1, 2, 3, "'b'")):
        for negation in ("", "NOT "):
            yield f"x {negation}BETWEEN {low} AND {high}"
            yield f"x {negation}IN ({low}, {high})"
            yield f"NOT (x >= {low} AND x < {high})"
            yield f"{negation}(s > {low} OR s <= {high})"
            yield f"{negation}x + {low} = y - {high}" if isinstance(low, int) and isinstance(high, int) else "x <> y"


def in_time() -> Iterator[str]:
    """Every relation of two intervals whose ends are in every order, equal ones too."""
    days = "'2024-05-02'", "'2024-05-03'"
    constants = [*itertools.combinations_with_replacement(days, 2), ("'..'", days[0]), (days[0], "'..'")]
    for name in TEMPORAL_FUNCTIONS:
        yield f"{name}(INTERVAL(a, b), INTERVAL(c, d))"
        yield f"{name}(a, INTERVAL(c, d))"
        for start, end in constants:
            yield f"{name}(INTERVAL(a, b), INTERVAL({start}, {end}))"


TIMES: Final = [
    dict(zip("abcd", (f"2024-05-0{day}" for day in days), strict=True))
    for days in itertools.product((1, 2, 3), repeat=4)
    if days[0] <= days[1] and days[2] <= days[3]
]
TABLES: Final = {"joined": (joined, EVENTS), "ranges": (ranges, EVENTS), "in time": (in_time, TIMES)}


@cache
def expected(table: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The conditions of a table, and the oracle's matches: the row of an event, and the number of a condition."""
    conditions, events = TABLES[table]
    texts = list(dict.fromkeys(conditions()))
    return texts, naive.match([(number, parse(text)) for number, text in enumerate(texts)], events)


@pytest.mark.parametrize("table", TABLES)
def test_conditions_are_evaluated_like_the_oracle(table: str) -> None:
    """FALSE is not UNKNOWN, so the negation of each condition is evaluated, too."""
    trees, values = list(map(parse, expected(table)[0])), [flatten(event)[0] for event in TABLES[table][1]]

    found = [[evaluate(tree, each) for tree in trees] for each in values]

    assert found == [[truth(tree, each) for tree in trees] for each in values]


@pytest.mark.parametrize("table", TABLES)
def test_indexes_answer_like_the_oracle(table: str) -> None:
    """A condition of each operator, alone and below others, as a match and as a reason not to match."""
    texts, pairs = expected(table)
    trees = list(map(parse, texts))

    for name in INDEXES:
        assert answers(Asked(name), trees, TABLES[table][1]) == pairs, name


@pytest.mark.parametrize("table", TABLES)
def test_engines_answer_like_the_oracle(table: str) -> None:
    """From texts, whose forms are compiled together, before and after they are merged, and changed in between."""
    texts, pairs = expected(table)
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": number, "where": text} for number, text in enumerate(texts)])

    for step in (engine.merge, lambda: engine.unsubscribe(0)):
        answer = engine.match_batch(TABLES[table][1]).table.to_pylist()
        assert [(row["event"], row["subscription"]) for row in answer] == [pair for pair in pairs if pair[1] in engine]
        step()
