"""Columns of odd types and values: no call ends because of one, and the other values of its rows are served."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tocsin

HUGE = 2**31 - 1
"""The days of the date 'infinity' in DuckDB and PostgreSQL."""

DATES = pa.array([HUGE, 1], pa.date32())
BROKEN = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa")]
)
COLUMNS: dict[str, pa.Array] = {
    "infinite date": DATES,
    "date before all": pa.array([-HUGE, 1], pa.date32()),
    "seconds": pa.array([2**62, 1], pa.timestamp("s")),
    "microseconds": pa.array([2**62, 1], pa.timestamp("us")),
    "unknown zone": pa.array([2**62, 1], pa.timestamp("us", "Mars/Olympus")),
    "duration": pa.array([2**62, 1], pa.duration("s")),
    "interval": pa.array([(1, 2, 3), (2**30, 1, 1)], pa.month_day_nano_interval()),
    "struct": pa.StructArray.from_arrays([DATES], ["until"]),
    "list": pa.ListArray.from_arrays([0, 1, 2], DATES),
    "list of structs": pa.ListArray.from_arrays([0, 1, 2], pa.StructArray.from_arrays([DATES], ["until"])),
    "map": pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "until"], DATES),
    "key that is not UTF-8": pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), BROKEN, pa.array([1, 2])),
    "text that is not UTF-8": BROKEN,
    "struct with such a text": pa.StructArray.from_arrays([BROKEN], ["until"]),
    "list of such texts": pa.ListArray.from_arrays([0, 1, 2], BROKEN),
    "dictionary of dates": DATES.dictionary_encode(),
    "run-end encoded": pa.RunEndEncodedArray.from_arrays([1, 2], [1, 2]),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "string view": pa.array(["a", "b"], pa.string_view()),
    "half": pa.array([1.5, None], pa.float16()),
}
CONDITIONS = [
    "v > 3",
    "v = 'a'",
    "v > DATE('2030-01-01')",
    "v.until < DATE('1900-01-01')",
    "ANY(v, x > 3)",
    "SOME(v, v > 3)",
    "A_CONTAINS(v, ('a'))",
    "v IS NULL",
    "TEXT(v, 'a')",
    "ANY_ATTRIBUTE(element LIKE '%x%')",
    "S_INTERSECTS(v, BBOX(0, 0, 1, 1))",
]


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_type_serves_the_other_values_of_its_rows(kind: str) -> None:
    table = pa.table({"v": COLUMNS[kind], "k": ["a", "b"]})
    for condition in CONDITIONS:
        answer = tocsin.match([{"id": "v", "where": condition}, {"id": "k", "where": "k = 'a'"}], table)
        assert {"event": 0, "subscription": "k"} in answer.table.to_pylist(), condition
        assert isinstance(answer.warnings, list)
        assert next(document["k"] for document, _ in answer.documents(table)) == "a"


def test_a_key_that_is_not_utf8_is_an_error_of_its_row() -> None:
    table = pa.table({"v": COLUMNS["key that is not UTF-8"]})
    answer = tocsin.match({"id": "a", "where": "v.a = 2"}, table)
    assert answer.table["event"].to_pylist() == [1]
    assert [(reject.row, reject.field) for reject in answer.errors] == [(0, "v")]
    assert "not valid UTF-8" in answer.errors[0].reason


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A Parquet file with the times of old Spark, Hive and Impala: INT96."""
    path = tmp_path / "far.parquet"
    times = [dt.datetime(9999, 12, 31), dt.datetime(2024, 5, 1), dt.datetime(1, 1, 1)]
    pq.write_table(pa.table({"t": pa.array(times, pa.timestamp("us"))}), path, use_deprecated_int96_timestamps=True)
    return path


def test_a_far_date_in_int96_is_that_date(far: Path) -> None:
    wheres = ["t > DATE('9000-01-01')", "t = TIMESTAMP('2024-05-01T00:00:00Z')", "t < DATE('0002-01-01')"]
    asked = [{"id": i, "where": where} for i, where in enumerate(wheres)]
    for source in (far, ds.dataset(far)):
        found = [(row["event"], row["subscription"]) for row in tocsin.match(asked, source).table.to_pylist()]
        assert found == [(0, 0), (1, 1), (2, 2)]


def test_a_filtered_dataset_that_makes_other_dates_is_refused(far: Path) -> None:
    partly: Any = ds.dataset(far).filter(ds.field("t").is_valid())
    with pytest.raises(tocsin.InvalidInput, match="INT96"):
        tocsin.match({"id": "a", "where": "t > DATE('9000-01-01')"}, partly)
    form = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    sound: Any = ds.dataset(far, format=form).filter(ds.field("t").is_valid())
    answer = tocsin.match({"id": "a", "where": "t > DATE('9000-01-01')"}, sound)
    assert answer.table["event"].to_pylist() == [0]


def test_a_dataset_keeps_the_unit_that_the_user_gave(far: Path) -> None:
    form = ds.ParquetFileFormat(ds.ParquetReadOptions(coerce_int96_timestamp_unit="ms"))
    answer = tocsin.match({"id": "a", "where": "t > DATE('9000-01-01')"}, ds.dataset(far, format=form))
    assert answer.table["event"].to_pylist() == [0]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4)])
def test_bytes_are_texts_if_a_schema_says_so(kind: pa.DataType) -> None:
    """Hive and Impala write texts as bytes."""
    values = [b"os\xc3\xa9", b"\xff123", b"2024", None]
    table = pa.table({"v": pa.array(values, kind)})
    wheres = ["v LIKE 'os_'", "v = '2024'", "v = 2024", "v IS NULL", "TEXT(v, '2024')"]
    asked = [{"id": where, "where": where} for where in wheres]
    for type_, expected in {
        "string": {(0, wheres[0]), (2, wheres[1]), (3, wheres[3])},
        "number": {(2, wheres[2]), (3, wheres[3])},
        "text": {(2, wheres[4]), (3, wheres[3])},
    }.items():
        for source in (table, table.to_pylist()):
            answer = tocsin.match(asked, source, schema={"v": type_})
            found = {(row["event"], row["subscription"]) for row in answer.table.to_pylist()}
            assert expected <= found, (type_, found)
            assert 1 in {reject.row for reject in answer.errors}
    assert any("a schema" in reject.reason for reject in tocsin.match(asked, table).errors)
