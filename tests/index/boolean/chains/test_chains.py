"""Expressions on chains, added one at a time, answer like `scan` after each."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.encoding import encoded
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Found
from tocsin.index.boolean.chains.chains import ChainedExpressions, ChainedView
from tocsin.index.boolean.scan import Scan
from tocsin.language import Templates

EVERYONE = np.full(4, ~np.uint64(0))


def pairs(found: Found) -> list[tuple[int, int]]:
    return list(zip(found.events.tolist(), found.subscriptions.tolist(), strict=True))


@settings(max_examples=60)
@given(
    expressions=st.lists(own.expressions(max_depth=4), min_size=1, max_size=10),
    events=st.lists(own.json_events(), min_size=1, max_size=80),
    as_texts=st.booleans(),
)
def test_every_prefix_answers_like_scan(expressions, events, as_texts):
    """After each addition, whatever came before; and what was frozen earlier answers as it did."""
    wanted, templates = Wanted([]), Templates()
    chains = ChainedExpressions(RecipeBook(), wanted)
    frozen: list[tuple[ChainedView, list[tuple[int, int]]]] = []

    for count, expression in enumerate(expressions, 1):
        instance = templates.instance(tocsin.to_text(expression)) if as_texts else None
        chains.add(instance or expression)
        batch = encoded(events, wanted)
        expected = pairs(Scan.build(compile_expressions(expressions[:count])).match(batch))
        frozen.append((chains.frozen(), expected))

        assert pairs(chains.frozen().match(batch, EVERYONE)) == expected

    for view, expected in frozen:
        assert pairs(view.match(batch, EVERYONE)) == expected


def test_only_chains_of_the_attributes_that_an_event_has_are_walked() -> None:
    """Of a thousand expressions on as many attributes an event of one of them examines one."""
    wanted = Wanted([])
    chains = ChainedExpressions(RecipeBook(), wanted)
    for number in range(200):
        chains.add(tocsin.parse(f"a{number} = 1 AND common = 2"))

    found = chains.frozen().match(encode_objects([(0, {"a7": 1, "common": 2})], wanted), EVERYONE)

    assert pairs(found) == [(0, 7)]
    assert found.candidates_examined <= 2


def test_those_that_are_gone_are_not_found() -> None:
    """A bit that is 0 takes an expression out."""
    wanted = Wanted([])
    chains = ChainedExpressions(RecipeBook(), wanted)
    for _ in range(3):
        chains.add(tocsin.parse("a = 1 OR b IS NULL"))
    alive = np.full(1, ~np.uint64(2))

    found = chains.frozen().match(encode_objects([(0, {"a": 1})], wanted), alive)

    assert pairs(found) == [(0, 0), (0, 2)]
