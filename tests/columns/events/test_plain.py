"""Many plain objects are read in columns or end to end, and mean what each of them means alone."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive import match as naive
from tests.naive.flatten import flatten
from tocsin.columns.events import plain as reader
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.plain import plain_events
from tocsin.columns.events.store import ValueStore
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import RecordError

NAMES = ("n", "s", "flag", "a.b", "AND", "odd name", "naïve", "place", "items.a", 'with"quote')
plain_values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["a", "é", "", "\ud800", "2024-05-31", "b%"]),
    st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, -(2**60), 10**400]),
    st.sampled_from([0.5, -0.0, float("nan"), float("inf"), 1e308]),
)
plain = st.dictionaries(st.sampled_from(NAMES), plain_values, max_size=8)
events = st.lists(st.one_of(plain, plain, plain, own.python_events(), own.bad_events()), min_size=1, max_size=10)


trees_of = st.one_of(own.expressions(max_depth=4), own.expressions_about_elements(max_depth=2))


ways = pytest.mark.parametrize("most_absent", [pytest.param(-1, id="end to end"), pytest.param(10**9, id="columns")])


@ways
@given(trees=st.lists(trees_of, min_size=1, max_size=6), given_events=events, times=st.integers(4, 40))
def test_they_match_as_each_alone(most_absent: int, trees: list[Any], given_events: list[Any], times: int) -> None:
    """The same events many times over match as they do once; bad ones are refused each time."""
    readable = [event for event in given_events if all(type(name) is str for name in event)] or [{}]
    held = [{"id": number, "where": tocsin.to_text(tree)} for number, tree in enumerate(trees)]
    many = [{}, *readable] * times

    with mock.patch.object(reader, "_MOST_ABSENT", most_absent):
        answer = tocsin.match(held, many)

    once = naive.match(list(enumerate(trees)), [{}, *readable])
    length = len(readable) + 1
    expected = [(row + length * turn, subscription) for turn in range(times) for row, subscription in once]
    assert [(row["event"], row["subscription"]) for row in answer.table.to_pylist()] == expected
    alone = tocsin.match(held, [{}, *readable]).errors
    assert sorted((reject.row % length, reject.field, reject.reason) for reject in answer.errors) == sorted(
        (reject.row, reject.field, reject.reason) for reject in alone for _ in range(times)
    )


@ways
@given(given_events=events)
def test_their_values_are_those_of_the_flattened(most_absent: int, given_events: list[Any]) -> None:
    """Every value of every event, under its own row."""
    many = [event for event in given_events for _ in range(1)] * 8 + [{"n": 1.0, "s": "x", "flag": True, "a.b": 2}] * 32
    with mock.patch.object(reader, "_MOST_ABSENT", most_absent):
        batch = encode_objects(enumerate(many), Wanted(NAMES))
    single = [encode_objects([(0, event)], Wanted(NAMES)) for event in many]

    good = [row for row, event in enumerate(many) if _is_good(event)]
    assert batch.rows.tolist() == good
    for place, row in enumerate(good):
        assert entries(batch, place) == entries(single[row], 0)


def _is_good(event: Any) -> bool:
    try:
        flatten(event)
    except RecordError:
        return False
    return True


def entries(batch: Any, place: int) -> set[tuple[str, int, Any]]:
    """The names, types and payloads of an event; a string as it is."""
    arrays = batch.arrays
    found = set()
    for at in range(arrays.starts[place], arrays.starts[place + 1]):
        kind, payload = int(arrays.types[at]), int(arrays.payloads[at])
        value: Any = batch.strings[payload] if kind == 1 and payload < len(batch.strings) else payload
        found.add((batch.attributes[arrays.attributes[at]], kind, value if kind < 4 else None))
    return found


@pytest.mark.parametrize(
    ("records", "wanted", "places"),
    [
        ([{"a": 1, "b": "x"}] * 40, ["a", "b"], 40),
        ([{"a": 1, "b": "x"}] * 31, ["a", "b"], 0),
        ([{"a": 1, "b": "x", "c": None}] * 40, ["a"], 40),
        ([{"a": 1, "c": {"d": 2}}, *[{"a": 1}] * 40], ["a"], 40),
        ([{"a": 1, "z": 2}] * 40, [f"n{n}" for n in range(100)], 40),
        ([{"a": 1, "z": [2]}] * 40, [f"n{n}" for n in range(100)], 0),
        ([{"a": 1, "b": 2}, {"a": 1}] * 40, ["b.c", *(f"n{n}" for n in range(100))], 40),
        ([*[{"a": 1}] * 40, {"a": [1]}, {1: 2}, {"b": "é"}, {"b": 10**400}, 5], [f"n{n}" for n in range(100)], 42),
        ([*[{"a": 1}] * 40, {"a": [1]}, {1: 2}, {"a": "é"}, 5], ["a", *(f"n{n}" for n in range(100))], 40),
        ([*[{"a": 1}] * 101, {1: 2}, {b"a": 1}, {None: 1}, {"\ud800": 1}], ["a", *(f"n{n}" for n in range(100))], 102),
        ([*[{"a": 1}] * 101, {b"a": 1}, {None: 1}, {"\ud800": 1}], ["a", *(f"n{n}" for n in range(100))], 102),
        ([*[{"a": 1}] * 101, {b"a": 1}, {None: 1}, {"b": 1}], ["a", *(f"n{n}" for n in range(100))], 102),
        ([*[{"a": 1}] * 101, {None: 1}, {"b": 1}], ["a", *(f"n{n}" for n in range(100))], 102),
        ([*[{"a": 1}] * 101, {"b": 1}], ["a", *(f"n{n}" for n in range(100))], 102),
        ([*[{"a": 1}] * 40, {"a": 1, "late": 2}], ["a"], 40),
        ([*[{"a": 1}] * 40, {"a": [1]}, {1: 2}, 5], ["a"], 40),
        ([{"a": np.float64(1)}] * 40, ["a"], 0),
    ],
)
def test_which_are_read_so(records: list[Any], wanted: list[str], places: int) -> None:
    """Many objects of nothing but scalars; the rest goes the long way."""
    assert len(plain_events(records, Wanted(wanted), ValueStore()).places) == places
