"""Parallel lists of names and values mean what the same events mean as objects."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.columns.events.decoding import decoded
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.sparse import encode_sparse
from tocsin.columns.events.wanted import Wanted

WANTED = Wanted(["a", "b", "c"])
VALUES = st.sampled_from([None, 0.0, -1.5, 2.0, float("nan"), float("inf")])
EVENTS = st.lists(st.dictionaries(st.sampled_from("abcxyz"), VALUES), max_size=8)


def sparse(events: list[dict], *, as_dictionary: bool = False, skip: int = 0):
    names = pa.array([list(event) for event in events], pa.list_(pa.string()))
    if as_dictionary:
        names = pa.ListArray.from_arrays(names.offsets, names.values.dictionary_encode())
    values = pa.array([list(event.values()) for event in events], pa.list_(pa.float64()))
    rows = np.arange(skip, len(events))
    return encode_sparse(names.slice(skip), values.slice(skip), rows, WANTED)


def test_a_name_that_is_wanted_meanwhile_is_read_from_then_on():
    """Another thread may be half-way through wanting it when a source's names are numbered."""
    wanted = Wanted(["a"])
    names = pa.array([["a", "late"]]).cast(pa.list_(pa.string()))
    names = pa.ListArray.from_arrays(names.offsets, names.values.dictionary_encode())
    values, rows = pa.array([[1.0, 2.0]]), np.arange(1)

    wanted.ordered.append("late")  # what `add` does first
    assert encode_sparse(names, values, rows, wanted).attributes == ["a"]
    wanted.ordered.pop()
    wanted.add(["late"])

    assert encode_sparse(names, values, rows, wanted).attributes == ["a", "late"]


@given(EVENTS, st.booleans(), st.integers(0, 2))
def test_means_what_the_objects_mean(events, as_dictionary, skip):
    """Values, absence and problems, with plain or dictionary-encoded names, sliced or not."""
    skip = min(skip, len(events))
    expected = encode_objects(list(enumerate(events))[skip:], WANTED)

    found = sparse(events, as_dictionary=as_dictionary, skip=skip)

    assert decoded(found) == decoded(expected)
    assert found.rows.tolist() == expected.rows.tolist()
    assert {(r.row, r.field) for r in found.rejects} == {(r.row, r.field) for r in expected.rejects}


def test_refuses_only_the_events_that_are_wrong():
    """Lists of different lengths, null lists and names, and a wanted attribute twice."""
    names = pa.array([["a"], ["a", "b"], None, ["a", None], ["b", "b"], ["x", "x"], ["c"]])
    values = pa.array([[1.0], [1.0], [1.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0]])

    batch = encode_sparse(names, values, np.arange(7), WANTED)

    assert batch.rows.tolist() == [0, 5, 6]
    assert [r.row for r in batch.rejects] == [1, 2, 3, 4]
    assert decoded(batch) == [{"a": ("number", 1.0)}, {}, {"c": ("number", 3.0)}]
