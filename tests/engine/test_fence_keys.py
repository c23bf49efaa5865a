"""Keys and times of several types: an event means the same whatever comes in one batch with it."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin

BIG = 2**53
KEYS: list[Any] = [
    5,
    "5",
    5.5,
    BIG,
    BIG + 1,
    2**70,
    False,
    "false",
    "a",
    "[5]",
    np.int64(7),
    7,
    dt.date(2024, 6, 1),
    dt.datetime(2024, 6, 1, tzinfo=dt.UTC),
    decimal.Decimal("1.50"),
]
MOMENTS: list[Any] = [
    10,
    20.5,
    "1970-01-01T00:00:30Z",
    dt.datetime(1970, 1, 1, 0, 0, 40, tzinfo=dt.UTC),
    dt.date(1970, 1, 2),
    "soon",
    True,
    None,
]


def fences_of(**options: Any) -> tocsin.Fences:
    engine = tocsin.Engine()
    engine.subscribe("hot", "x > 5")
    return tocsin.Fences(engine, key="k", **options)


def told(changes: Any) -> list[tuple[Any, ...]]:
    return [(repr(type(one.object)), one.object, one.change, one.seconds) for one in changes]


def parquet_files(folder: Path, *tables: pa.Table) -> list[str]:
    paths = [str(folder / f"{number}.parquet") for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return paths


drawn = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from(KEYS), "x": st.integers(4, 7), "t": st.sampled_from(MOMENTS)}),
    max_size=12,
)


@given(drawn, st.integers(1, 5))
def test_a_batch_is_its_events_one_by_one(events, size):
    one_by_one, in_batches = fences_of(time="t"), fences_of(time="t")
    expected = [change for event in events for change in one_by_one.push(event)]

    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(events), size):
        rows += [(one["change"], one["seconds"]) for one in in_batches.push_batch(events[start : start + size])]

    assert rows == [(one.change, one.seconds) for one in expected]
    assert list(in_batches.objects()) == list(one_by_one.objects())
    assert [type(key) for key, _ in in_batches.objects()] == [type(key) for key, _ in one_by_one.objects()]


@pytest.mark.parametrize("form", ["dicts", "JSON lines", "files"])
def test_numbers_and_texts_are_apart(form, tmp_path):
    """5 and "5" in one batch: two objects, as they are in two batches; the table has both as texts."""
    events = [{"k": 5, "x": 9}, {"k": "5", "x": 9}, {"k": 5, "x": 0}]
    source: Any = events
    if form == "JSON lines":
        source = "\n".join(map(json.dumps, events)).encode()
    if form == "files":
        source = parquet_files(tmp_path, *(pa.Table.from_pylist([event]) for event in events))
    fences = fences_of()

    answer = fences.push_batch(source)

    assert [(row["object"], row["change"]) for row in answer] == [("5", "enter"), ("5", "enter"), ("5", "exit")]
    assert fences.inside("5") == ["hot"]
    assert fences.inside(5) == []


def test_a_list_is_no_key():
    fences = fences_of()

    answer = fences.push_batch([{"k": [5], "x": 9}, {"k": {"a": 1}, "x": 9}, {"k": 5, "x": 9}])

    assert [error.row for error in answer.event_errors] == [0, 1]
    assert "a key is a string, a number or a boolean" in answer.event_errors[0].reason
    assert list(fences.objects()) == [(5, ["hot"])]


def test_large_integers_beside_floats_stay_apart_in_answers(tmp_path):
    """Matches tell keys apart as fences do: no integer is rounded because another event has a float."""
    events = parquet_files(tmp_path, pa.table({"k": [BIG, BIG + 1], "x": [9, 9]}), pa.table({"k": [0.5], "x": [9]}))

    keys = tocsin.match([{"id": 1, "where": "x > 5"}], events, event_key="k").table["event_key"].to_pylist()

    assert len(set(keys)) == 3
    assert keys[:2] == [str(BIG), str(BIG + 1)]


def test_fences_tell_of_their_key_by_its_name() -> None:
    engine = tocsin.Engine()
    engine.subscribe("s", "price < 9")

    answer = tocsin.Fences(engine, key="vehicel").push_batch(
        [{"lon": 2.3, "lat": 48.8, "vehicle": "v1"}, {"lon": 2.4, "lat": 48.9}]
    )

    assert "key='vehicel': no event has vehicel; did you mean vehicle?" in map(str, answer.warnings)
