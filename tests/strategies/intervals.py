"""Ranges, and events that have some among their values."""

from __future__ import annotations

import math
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.events import python_events
from tests.strategies.pools import SCALARS, Kind, chosen, often
from tests.strategies.weighted import GRID, grid_events
from tocsin.model.values import LARGEST_INTEGER, Range

_USUAL: Final = ("n", "a.b", "naïve")
_UNUSUAL: Final = ("s", "flag", 'with"quote', "place")
_KINDS: Final[dict[str, Kind]] = {"naïve": "instant"}


@st.composite
def ranges(draw: DrawFn, kind: Kind = "number") -> Range:
    """Ranges of numbers or of instants from the pools: some are a point, some have no end on one side."""
    ends = sorted(draw(st.tuples(SCALARS[kind], SCALARS[kind])))
    lo, hi = (_as_written(draw, end) for end in ends)
    shape = draw(st.sampled_from(("both", "both", "both", "both", "point", "from", "to")))
    lo = hi if shape == "point" else _without(draw, kind, -math.inf) if shape == "to" else lo
    hi = _without(draw, kind, math.inf) if shape == "from" else hi
    return Range(lo, hi, contained=draw(st.booleans()))


def _as_written(draw: DrawFn, end: object) -> object:
    """A number without a fraction is perhaps an integer."""
    is_whole = isinstance(end, float) and end.is_integer() and abs(end) <= LARGEST_INTEGER
    return int(end) if is_whole and draw(st.booleans()) else end  # type: ignore[call-overload]


def _without(draw: DrawFn, kind: Kind, infinity: float) -> float | None:
    """How an open end is written."""
    return draw(st.sampled_from((None, infinity))) if kind == "number" else None


@st.composite
def interval_events(draw: DrawFn) -> dict[str, object]:
    """Events of every kind with ranges, most of them where numbers and instants usually are."""
    event = draw(python_events())
    unusual = draw(often(st.just(()), st.tuples(st.sampled_from(_UNUSUAL)), odds=5))
    for name in (*[name for name in _USUAL if draw(st.integers(0, 3))], *unusual):
        kind = _KINDS.get(name, "number")
        span = draw(often(ranges(kind), ranges("instant" if kind == "number" else "number"), odds=10))
        if name == "a.b":
            event.pop("a", None)
            event.pop("a.b", None)
        is_nested = name == "a.b" and draw(st.booleans())
        event |= {"a": {"c": None, "b": span}} if is_nested else {name: span}
    if not draw(st.integers(0, 11)):
        event |= draw(st.sampled_from(_WITHIN_LISTS))
    return event


_WITHIN_LISTS: Final = (
    {'with"quote': [1, Range(0, 1)]},
    {'with"quote': [Range(0, None)]},
    {"n": [Range(1, 2), Range(1, 2)]},
    {"n": (Range(1, 2), None)},
)


def interval_grid_events() -> SearchStrategy[dict[str, object]]:
    """Events on the grid of `grid_events`, half of their values ranges."""
    return grid_events().flatmap(_with_grid_ranges)


def _with_grid_ranges(event: dict[str, object]) -> SearchStrategy[dict[str, object]]:
    spans = st.fixed_dictionaries({}, optional=dict.fromkeys(GRID, grid_ranges()))
    return spans.map(lambda drawn: event | drawn)


@st.composite
def grid_ranges(draw: DrawFn) -> Range:
    """Ranges on the grid, between its lines and beyond."""
    place = chosen((6, st.integers(0, 6)), (2, st.sampled_from((-1, 0.5, 2.5, 4.5, 7))))
    lo, hi = sorted(draw(st.tuples(place, place)))
    shape = draw(st.sampled_from(("both", "both", "both", "both", "from", "to")))
    contained = draw(st.booleans())
    return Range(None if shape == "to" else lo, None if shape == "from" else hi, contained=contained)
