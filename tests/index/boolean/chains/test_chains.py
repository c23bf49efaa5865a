"""Expressions on chains, added one at a time, answer like `scan` after each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.encoding import encoded
from tests.sizes import sized
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Found
from tocsin.index.alive import everyone
from tocsin.index.boolean.chains import chains as module
from tocsin.index.boolean.chains.chains import ChainedExpressions, ChainedView
from tocsin.index.boolean.scan import Scan
from tocsin.language import Templates

EVERYONE = np.full(4, ~np.uint64(0))


def pairs(found: Found) -> list[tuple[int, int]]:
    return list(zip(found.events.tolist(), found.subscriptions.tolist(), strict=True))


@settings(max_examples=sized(20, 60))
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
        chains.keep_up()
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

    view = chains.frozen()
    found = view.match(encode_objects([(0, {"a7": 1, "common": 2})], wanted), EVERYONE)

    assert pairs(found) == [(0, 7)]
    assert found.candidates_examined <= 2


def test_those_that_are_gone_are_not_found() -> None:
    """A bit that is 0 takes an expression out."""
    wanted = Wanted([])
    chains = ChainedExpressions(RecipeBook(), wanted)
    for _ in range(3):
        chains.add(tocsin.parse("a = 1 OR b IS NULL"))
    alive = np.full(1, ~np.uint64(2))

    view = chains.frozen()
    found = view.match(encode_objects([(0, {"a": 1})], wanted), alive)

    assert pairs(found) == [(0, 0), (0, 2)]


@settings(max_examples=sized(20, 60))
@given(
    expressions=st.lists(own.expressions(max_depth=3), min_size=1, max_size=10),
    events=st.lists(own.json_events(), min_size=1, max_size=20),
    compiled=st.integers(0, 10),
    as_texts=st.booleans(),
)
def test_what_is_compiled_all_at_once_answers_like_scan(expressions, events, compiled, as_texts):
    """However many of the expressions are on chains already, and whatever comes later."""
    wanted, templates = Wanted([]), Templates()
    chains = ChainedExpressions(RecipeBook(), wanted)
    given = [(templates.instance(tocsin.to_text(one)) if as_texts else None) or one for one in expressions]
    for one in given[:compiled]:
        chains.add(one)
    chains.keep_up()
    for one in given[compiled:]:
        chains.add(one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 1)
        later = chains.compiled_later()
    chains.add(tocsin.parse("later = 1"))

    expected = compile_expressions(expressions)
    batch = encoded(events, Wanted(expected.attributes))
    assert len(later()) == len(expressions)
    assert pairs(Scan.build(later()).match(batch)) == pairs(Scan.build(expected).match(batch))


def test_nothing_is_compiled_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An addition costs next to nothing; a view has all of them, and so it has after an interrupt."""
    wanted = Wanted([])
    chains = ChainedExpressions(RecipeBook(), wanted)
    for number in range(100):
        chains.add(tocsin.parse(f"a{number} = 1"))
    assert (len(chains), wanted.ordered) == (100, [])

    hang, calls = chains._hang, []

    def interrupted(literal: int, number: int) -> None:
        calls.append(number)
        if len(calls) == 50:
            raise KeyboardInterrupt
        hang(literal, number)

    monkeypatch.setattr(chains, "_hang", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chains.frozen()
    assert len(chains.compiled_later()()) == 100
    view = chains.frozen()
    batch = encode_objects([(number, {f"a{number}": 1}) for number in range(100)], wanted)
    assert pairs(view.match(batch, everyone(100))) == [(number, number) for number in range(100)]
