"""Keys and times of several types: an event means the same whatever comes in one batch with it."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import re
import uuid
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
    "false",
    "a",
    "[5]",
    np.int64(7),
    7,
    decimal.Decimal("1.50"),
    uuid.UUID(int=7),
]
NO_KEYS: list[Any] = [
    True,
    False,
    None,
    float("nan"),
    [5],
    (5,),
    {"a": 1},
    dt.date(2024, 6, 1),
    dt.datetime(2024, 6, 1, tzinfo=dt.UTC),
    dt.time(5),
    b"5",
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
    st.fixed_dictionaries(
        {"k": st.sampled_from(KEYS + NO_KEYS), "x": st.integers(4, 7), "t": st.sampled_from(MOMENTS)}
    ),
    max_size=12,
)


@given(drawn, st.integers(1, 5))
def test_a_batch_is_its_events_one_by_one(events, size):
    one_by_one, in_batches = fences_of(time="t"), fences_of(time="t")
    expected, reasons = [], []
    for event in events:
        try:
            expected += one_by_one.push(event)
        except tocsin.RecordError as error:
            reasons.append(str(error))

    rows: list[tuple[Any, ...]] = []
    refused: list[str] = []
    for start in range(0, len(events), size):
        answer = in_batches.push_batch(events[start : start + size])
        rows += [(one["change"], one["seconds"]) for one in answer]
        refused += [f"{error.field}: {error.reason}" for error in answer.event_errors]

    assert refused == reasons
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


@pytest.mark.parametrize("others", [[], ["a"], [5], ["a", 5]])
@pytest.mark.parametrize("key", NO_KEYS)
def test_other_values_are_not_keys(key: Any, others: list[Any]) -> None:
    """Alone, and beside keys of one or two types: never the text or the number that looks the same."""
    fences = fences_of()
    answer = fences.push_batch([{"k": one, "x": 9} for one in (key, *others)])

    assert [(error.row, error.field) for error in answer.event_errors] == [(0, "k")] and answer.lost == {0}
    reason = answer.event_errors[0].reason
    is_absent = key is None or key != key
    assert ("has no value of 'k'" if is_absent else "a key is a string or a number") in reason
    assert list(fences.objects()) == [(one, ["hot"]) for one in others]
    with pytest.raises(tocsin.RecordError, match=re.escape(reason)):
        fences_of().push({"k": key, "x": 9})


@pytest.mark.parametrize(
    "column", [pa.array([True, False]), pa.array([dt.date(2024, 6, 1)] * 2), pa.array([b"a", b"b"])]
)
def test_a_column_of_other_values_has_no_keys(column: pa.Array) -> None:
    """Of a table; a warning is not needed, as every event is an error."""
    answer = fences_of().push_batch(pa.table({"k": column, "x": [9, 9]}))

    assert len(answer) == 0 and len(answer.event_errors) == 2
    assert "a key is a string or a number" in answer.event_errors[0].reason


@pytest.mark.parametrize("word", ["2024-06-01", "true"])
def test_a_column_of_a_csv_can_be_read_as_texts(word: str, tmp_path: Path) -> None:
    """As the error says."""
    path = tmp_path / "e.csv"
    path.write_text(f"k,x\n{word},9\n{word},9\n")

    (first, _) = fences_of().push_batch(path).event_errors
    answer = fences_of().push_batch(path, schema={"k": "string"})

    assert first.reason.endswith(
        "a key is a string or a number. In a CSV file, schema={'k': 'string'} reads it as text."
    )
    assert [one["object"] for one in answer] == [word]


def test_a_line_does_not_begin_at_another_value(tmp_path: Path) -> None:
    """`true` is not the object 1, whose last place would otherwise be that of `true`."""
    pytest.importorskip("shapely")
    engine = tocsin.Engine()
    engine.subscribe("zone", "S_INTERSECTS(at, BBOX(3, 0, 5, 9))")
    events = [{"k": True, "at": [1, 1]}, {"k": 1, "at": [9, 1]}]

    assert list(tocsin.Fences(engine, key="k", path="at").push_batch(events)) == []


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
