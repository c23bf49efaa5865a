"""How the tests of indexes ask: expressions from text, events from dicts, and `access` held against `scan`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tocsin
from tests.encoding import encoded
from tests.naive import match as naive
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Found, Matcher, parse_index
from tocsin.index.alive import everyone
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.scan import Scan
from tocsin.index.statistics import Statistics
from tocsin.model.expression import Expression

Event = Mapping[str, Any]


def compiled(texts: Iterable[str]) -> CompiledExpressions:
    return _compiled(tuple(texts))


@lru_cache(8)  # parsing is most of the time of a test that asks one load several times
def _compiled(texts: tuple[str, ...]) -> CompiledExpressions:
    return compile_expressions(map(tocsin.parse, texts))


def batch(of: CompiledExpressions | Matcher, events: Sequence[Event]) -> EventBatch:
    return encoded(events, Wanted(of.attributes))


def pairs(found: Found) -> list[tuple[int, int]]:
    return list(zip(found.events.tolist(), found.subscriptions.tolist(), strict=True))


def asked(texts: Sequence[str], events: Sequence[Event], statistics: Statistics | None = None) -> Found:
    """What an access index over these subscriptions finds, once it is seen to find what `scan` finds."""
    expressions = compiled(texts)
    given = batch(expressions, events)
    found = Access.build(expressions, statistics).match(given)
    assert_alike(found, Scan.build(expressions).match(given))
    return found


def assert_alike(found: Found, expected: Found) -> None:
    assert np.array_equal(found.starts, expected.starts)
    assert np.array_equal(found.subscriptions, expected.subscriptions)


def assert_access_is_scan(
    expressions: CompiledExpressions, given: EventBatch, alive: NDArray[np.uint64] | None = None
) -> Found:
    """Both find the same of a batch; what access found."""
    found = Access.build(expressions).match(given, alive)
    assert_alike(found, Scan.build(expressions).match(given, alive))
    return found


def assert_indexes_are_the_oracle(
    indexes: Iterable[str], expressions: Sequence[Expression], events: Sequence[Event], gone: Collection[int]
) -> None:
    """Indexes by name find what the oracle does, and of that, without those that are gone, the rest."""
    expected = naive.match(list(enumerate(expressions)), events)
    left = [(event, one) for event, one in expected if one not in gone]
    held, alive = compile_expressions(expressions), everyone_but(gone, len(expressions))
    given = batch(held, events)
    for index in indexes:
        registration, options = parse_index(index)
        matcher = registration.builder(**options).build(held)
        every, living = matcher.match(given), matcher.match(given, alive)

        assert pairs(every) == expected, index
        assert pairs(living) == left, index
        assert every.candidates_examined >= len(every.subscriptions), index


def everyone_but(gone: Collection[int], count: int) -> NDArray[np.uint64]:
    """Who is alive of at most 64 subscriptions."""
    alive = everyone(count)
    for number in gone:
        alive[0] &= ~(np.uint64(1) << np.uint64(number))
    return alive
