"""Values are encoded as they come, and as they are on the way through `flatten`."""

from __future__ import annotations

import datetime as dt
import decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.columns.events.decoding import decoded
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import _ObjectEncoder, encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.model.values import Point

SCALARS = st.one_of(
    st.integers(-(2**54), 2**54),
    st.floats(),
    st.sampled_from([0, -0.0, 1.0, 2**53, -(2**53), 0.5, True, False, None, "", "a", "é", "x" * 9, "\ud800"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=5), st.lists(st.floats(-9, 9), min_size=2, max_size=4))
ODD = [dt.date(2024, 5, 31), decimal.Decimal("0.3333"), {"a"}, (1.0, 2.0), np.float64("nan"), np.datetime64("NaT")]
PLACES = [Point(1, 2), {"type": "Point", "coordinates": [1, 2]}, {"type": "Point", "coordinates": "?"}]
WITHIN = [MappingProxyType({"b": 1, "c": [1, {}]}), [{"b": 1}, {"b": "x", "a": None}], [{"c": 1}, 2], {1: 2}, {}]
OTHERS = st.sampled_from([*ODD, *PLACES, *WITHIN, object(), b"?", [[1]]])
NAMES = st.sampled_from(["a", "b", "c", "a.b", "type", ""])
NESTED = st.recursive(st.one_of(VALUES, OTHERS), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)


def through_flatten(events: list[dict[str, Any]], wanted: Wanted) -> EventBatch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ObjectEncoder, "_add_values", lambda self, record, level, depth: False)
        return encode_objects(enumerate(events), wanted)


@example([{"a": [1, 2]}, {"a": [0.5, -0.0]}, {"a": []}, {"a": ["x", 1, "x"]}, {"a": [True]}, {"a": [2**60, 1]}])
@example([{"a": [3.0, 1.0, 2.0, 4.0]}, {"a": [1.0, 1.0, 2.0, 2.0], "b": [1.0]}, {"a": [None, 1.0]}])
@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), max_size=6))
def test_plain_values_are_what_flatten_makes_of_them(events: list[dict[str, Any]]) -> None:
    """Numbers, strings, booleans and lists of such, the odd ones among them too; with their problems."""
    for wanted in (Wanted(), Wanted(["a", "b"])):
        plain, flattened = encode_objects(enumerate(events), wanted), through_flatten(events, wanted)
        assert decoded(plain) == decoded(flattened)
        assert plain.rejects == flattened.rejects


@example([{"a": {"b": 1}, "a.b": 2}, {"a": {"b": {"c": [1, 2]}}}, {"c": [{"a": 1}], "a": 2}])
@example([{"a": {"b": {"type": "Point", "coordinates": [1, 2]}}}, {"b": {"c": [[1]]}}, {"": {"b": 1}, ".b": 2}])
@given(st.lists(st.dictionaries(NAMES, NESTED, max_size=4), max_size=5))
def test_objects_within_are_what_flatten_makes_of_them(events: list[dict[str, Any]]) -> None:
    """However deep they are nested, whatever they hold, and whichever names have dots or are the same."""
    for wanted in (Wanted(), Wanted(["a", "b"]), Wanted(["a.b", "c.a.b", "b.c"]), Wanted(["a.b.c", ".b", "b"])):
        direct, flattened = encode_objects(enumerate(events), wanted), through_flatten(events, wanted)
        assert decoded(direct) == decoded(flattened)
        assert direct.rejects == flattened.rejects


@pytest.mark.parametrize("depth", [15, 16, 17, 18, 255, 256, 257])
def test_a_deep_object_is_served_to_its_limit(depth: int) -> None:
    """What nests deeper than is read at once takes the long way, and beyond the limit is refused."""
    event: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        event = {"x": event}
    wanted = Wanted([".".join(["x"] * depth + ["a"])])

    direct, flattened = encode_objects([(0, event)], wanted), through_flatten([event], wanted)

    assert len(direct) == (depth <= 256)
    assert decoded(direct) == decoded(flattened)
    assert direct.rejects == flattened.rejects
