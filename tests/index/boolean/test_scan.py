"""`scan` examines everything, however large the output and however many ask at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tocsin
from tests.encoding import encoded
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Found
from tocsin.index.boolean.scan import Scan


def compiled(*texts: str) -> CompiledExpressions:
    return compile_expressions(map(tocsin.parse, texts))


def batch(of: CompiledExpressions, events: list[dict[str, Any]]) -> EventBatch:
    return encoded(events, Wanted(of.attributes))


def pairs(found: Found) -> list[tuple[int, int]]:
    return list(zip(found.events.tolist(), found.subscriptions.tolist(), strict=True))


@pytest.mark.parametrize("events", [0, 1, 63, 64, 65, 128, 1000])
@pytest.mark.parametrize("subscriptions", [0, 1, 50])
def test_every_pair_is_examined(events: int, subscriptions: int) -> None:
    """`candidates_examined` is events times subscriptions, also where nothing matches."""
    expressions = compiled(*(f"n = {number}" for number in range(subscriptions)))

    found = Scan.build(expressions).match(batch(expressions, [{"n": -1}] * events))

    assert found.candidates_examined == found.verified == events * subscriptions
    assert pairs(found) == []


def test_bad_events_are_not_examined() -> None:
    """What is rejected is no candidate."""
    expressions = compiled("n = 1", "n IS NULL")
    events = [{"n": 1}, {"a": {"b": 1}, "a.b": 1}, {"n": 2}]

    found = Scan.build(expressions).match(batch(expressions, events))

    assert found.candidates_examined == 4


@pytest.mark.parametrize(("events", "subscriptions"), [(1, 40_000), (64, 400), (300, 600), (2000, 20), (3, 20_000)])
def test_output_larger_than_the_first_room(events: int, subscriptions: int) -> None:
    """When everything matches, every pair comes out once, by event, then subscription."""
    expressions = compile_expressions([tocsin.parse("n = 1")] * subscriptions)

    found = Scan.build(expressions).match(batch(expressions, [{"n": 1}] * events))

    assert np.array_equal(found.events, np.repeat(np.arange(events), subscriptions))
    assert np.array_equal(found.subscriptions, np.tile(np.arange(subscriptions), events))


def test_room_that_runs_out_in_the_middle_loses_nothing() -> None:
    """Blocks with no, few and many matches in turn give what single events give."""
    expressions = compiled(*(f"n > {number}" for number in range(700)))
    events = [{"n": (number * 37) % 701 if (number // 64) % 2 else 0} for number in range(400)]
    scan = Scan.build(expressions)

    found = scan.match(batch(expressions, events))

    assert pairs(found) == [(row, s) for row, event in enumerate(events) for s in range(event["n"])]


def test_a_position_in_the_block_does_not_matter() -> None:
    """An event gets the same matches in whichever of the 64 lanes it lies."""
    expressions = compiled(
        "n = 1 AND s LIKE 'a%'", "n + 1 = 2", "A_CONTAINS(l, ('x'))", "NOT (n = 1)", "MATCHES(s, 'b$')"
    )
    event = {"n": 1, "s": "ab", "l": ["x", "y"]}
    scan = Scan.build(expressions)

    for lane in (0, 1, 31, 62, 63, 64, 100):
        events: list[dict[str, Any]] = [{"s": "c"}] * 130
        events[lane] = event

        assert pairs(scan.match(batch(expressions, events))) == [(lane, s) for s in (0, 1, 2, 4)]


def test_many_threads_may_share_one_scan() -> None:
    """Threads with different batches get what they get alone."""
    expressions = compiled(
        *(f"n = {number} OR s = 'x{number}'" for number in range(200)),
        *(f"n * 2 > {number} AND s LIKE '%{number % 10}'" for number in range(200)),
        *(f"MATCHES(s, '{number}$')" for number in range(50)),
    )
    scan = Scan.build(expressions)
    batches = [
        batch(expressions, [{"n": (i * j) % 211, "s": f"x{(i + j) % 97}"} for i in range(200)]) for j in range(1, 9)
    ]
    alone = [pairs(scan.match(one)) for one in batches]
    assert all(alone)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: pairs(scan.match(one)), batches * 6))

    assert together == alone * 6
