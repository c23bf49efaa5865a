"""Plain values are encoded value by value, and as they are on the way through `flatten`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.columns.events.decoding import decoded
from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.columns.events.objects import _ObjectEncoder, encode_objects

SCALARS = st.one_of(
    st.integers(-(2**54), 2**54),
    st.floats(),
    st.sampled_from([0, -0.0, 1.0, 2**53, -(2**53), 0.5, True, False, None, "", "a", "é", "x" * 9, "\ud800"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=5), st.lists(st.floats(-9, 9), min_size=2, max_size=4))


def through_flatten(events: list[dict[str, Any]], wanted: Wanted) -> EventBatch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ObjectEncoder, "_add_plain", lambda self, record: False)
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
