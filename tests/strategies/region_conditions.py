"""Expressions with a region and keywords, and messages with a place and a text, on a small grid and far beyond it."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.conditions import expressions
from tests.strategies.pools import chosen
from tests.strategies.rectangles import PLACES, places, region_asked, regions
from tocsin.model.expression import And, Array, Attribute, Call, Constant, Expression

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


def _more() -> SearchStrategy[Expression]:
    return expressions(max_depth=3).filter(lambda one: not isinstance(one, And))
