"""Expressions with a region and keywords, and messages with a place and a text, on a small grid and far beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.conditions import expressions
from tests.strategies.pools import chosen
from tests.strategies.rectangles import PLACES, places, region_asked, regions
from tocsin.model.expression import And, Array, Attribute, Call, Constant, Expression, Or

LISTS: Final = ("words", "tags")
_KEYWORDS: Final = ("a", "b", "c", "d", "e", "f", "é", "ab", 1.0, True)


def keywords() -> SearchStrategy[Any]:
    """Words, some much more often than others, and what else a list may hold."""
    often = st.sampled_from(_KEYWORDS[:3])
    return chosen((4, often), (2, st.sampled_from(_KEYWORDS)))


@st.composite
def region_expressions(draw: DrawFn) -> Expression:
    """A conjunction with a box and keywords at least; some have more, of either or of no such thing."""
    parts = [draw(_region()), draw(_asked_keywords())]
    parts += draw(st.lists(st.one_of(_region(), _asked_keywords(), _more()), max_size=2))
    return And(tuple(draw(st.permutations(parts))))


@st.composite
def region_alternatives(draw: DrawFn) -> Expression:
    """Regions, keywords and other conditions under ORs, of which each alternative has a region and keywords or not."""
    keywords_or_more = chosen((4, _asked_keywords()), (2, _any_keyword()), (1, _more()))
    some = st.lists(keywords_or_more, min_size=1, max_size=2).map(lambda parts: _joined(And, parts))
    either = st.lists(some, min_size=2, max_size=3).map(lambda parts: _joined(Or, parts))
    if draw(st.booleans()):
        parts = [draw(_region()), draw(st.one_of(either, _any_keyword()))]
        parts += draw(st.lists(st.one_of(either, _region(), _more()), max_size=1))
        return _joined(And, draw(st.permutations(parts)))
    apart = st.tuples(_region(), some).map(lambda parts: And(parts))
    return _joined(Or, draw(st.lists(apart, min_size=2, max_size=3)))


@st.composite
def region_events(draw: DrawFn) -> dict[str, Any]:
    """A place, or none, and keywords, or none, and now and then what the rest is about."""
    event: dict[str, Any] = {}
    for name in PLACES:
        if draw(st.integers(0, 5)):
            event[name] = draw(places())
    for name in LISTS:
        if draw(st.integers(0, 5)):
            event[name] = draw(st.lists(keywords(), max_size=8))
    if draw(st.booleans()):
        event["a"] = draw(st.sampled_from([1, 2.5, "x", True]))
    return event


def _region() -> SearchStrategy[Expression]:
    return region_asked(regions())


def _asked_keywords() -> SearchStrategy[Expression]:
    some = st.lists(keywords(), min_size=1, max_size=5)
    return st.builds(
        lambda name, words: Call("A_CONTAINS", (Attribute(name), Array(tuple(map(Constant, words))))),
        st.sampled_from(LISTS),
        some,
    )


def _any_keyword() -> SearchStrategy[Expression]:
    some = st.lists(keywords(), max_size=4)
    return st.builds(
        lambda name, words: Call("A_OVERLAPS", (Attribute(name), Array(tuple(map(Constant, words))))),
        st.sampled_from(LISTS),
        some,
    )


def _joined(kind: type[And] | type[Or], parts: Sequence[Expression]) -> Expression:
    """An AND or OR of several parts without nesting it in itself; a single part alone."""
    inside = [one for part in parts for one in (part.operands if isinstance(part, kind) else (part,))]
    return kind(tuple(inside)) if len(inside) > 1 else inside[0]


def _more() -> SearchStrategy[Expression]:
    return expressions(max_depth=3).filter(lambda one: not isinstance(one, And))
