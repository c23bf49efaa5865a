"""Values that other systems write: UUIDs, leap seconds, epochs in another unit, and intervals of months."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.model.instants import read_instant, read_instants

IDS = [uuid.UUID(int=number) for number in (0, 0x1234_5678_1234_5678_9ABC_DEF0_1234_5678, 2**128 - 1)]
ASKED = [f"u = '{IDS[1]}'", f"SOME(us, element = '{IDS[1]}')", "u IS NULL"]


def matched(asked: list[str], source: Any, **options: Any) -> tuple[list[tuple[int, str]], dict[int, str]]:
    answer = tocsin.match([{"id": where, "where": where} for where in asked], source, **options)
    found = sorted((row["event"], row["subscription"]) for row in answer.table.to_pylist())
    return found, {reject.row: reject.reason for reject in answer.errors}


def test_uuids_have_their_text(tmp_path: Path) -> None:
    events = [{"u": IDS[0], "us": IDS}, {"u": IDS[1], "us": []}, {"u": None, "us": IDS[:1]}]
    column = pa.array([*(one.bytes for one in IDS), None], pa.binary(16))
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), column)
    lists = pa.ListArray.from_arrays([0, 3, 3, 4], pa.ExtensionArray.from_storage(pa.uuid(), column.take([0, 1, 2, 0])))
    table = pa.table({"u": uuids.take(pa.array([0, 1, 3])), "us": lists})
    pq.write_table(table.select(["u"]), tmp_path / "u.parquet")
    expected = [(0, ASKED[1]), (1, ASKED[0]), (2, ASKED[2])]

    assert matched(ASKED, events) == matched(ASKED, table) == (expected, {})
    assert matched([ASKED[0], ASKED[2]], tmp_path / "u.parquet") == (expected[1:], {})
    assert matched([f"u = '{IDS[2]}'"], pa.table({"u": uuids.slice(2)}))[0] == [(0, f"u = '{IDS[2]}'")]


@pytest.mark.parametrize(
    ("text", "next_second"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31 15:59:60.25-08:00", "2017-01-01T00:00:00.25Z"),
        ("2024-06-01T08:15:60", "2024-06-01T08:16:00Z"),
    ],
)
def test_a_leap_second_is_the_next_second(text: str, next_second: str) -> None:
    expected = read_instant(next_second)
    assert expected is not None and read_instant(text) == expected
    assert read_instants(pa.array([next_second, text, None])).to_pylist() == [expected.microseconds] * 2 + [None]
    asked = [f"t = TIMESTAMP('{next_second}')"]
    assert (
        matched(asked, [{"t": text}])[0] == matched(asked, [{"t": text}], schema={"t": "instant"})[0] == [(0, asked[0])]
    )


@pytest.mark.parametrize("text", ["2016-12-31T23:59:61Z", "2016-12-31T23:60:00Z", "9999-12-31T23:59:60Z"])
def test_other_odd_seconds_are_not_instants(text: str) -> None:
    assert read_instant(text) is None
    assert read_instants(pa.array([text])).to_pylist() == [None]


@pytest.mark.parametrize(
    ("number", "unit", "better"),
    [(1714564800000, "s", "ms"), (1714564800000000, "s", "us"), (1714564800000000000, "ms", "ns")],
)
def test_numbers_in_another_unit_get_advice(number: int, unit: str, better: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"t,k\n{number},1\n0,2\n")
    events = [{"t": float(number)}, {"t": 0}]
    for source in (events, pa.Table.from_pylist(events), tmp_path / "e.csv"):
        found, errors = matched(["t < DATE('1999-01-01')"], source, schema={"t": f"instant({unit})"})
        assert [row for row, _ in found] == [1]
        assert errors.keys() == {0} and f"give the type 'instant({better})'" in errors[0]


def test_an_interval_of_months_is_an_error_of_its_value() -> None:
    """Not a list of three numbers."""
    months = pa.array([pa.MonthDayNano([1, 2, 3]), None], pa.month_day_nano_interval())
    table = pa.table({"m": months, "s": pa.StructArray.from_arrays([months], ["m"]), "k": [1, 2]})
    found, errors = matched(["k = 1", "k = 2", "A_CONTAINS(m, (2))", "s.m > 1"], table)
    assert found == [(0, "k = 1"), (1, "k = 2")]
    assert errors.keys() == {0}


def test_a_duration_beyond_those_of_python_says_so() -> None:
    found, errors = matched(["d > 5", "k = 1"], pa.table({"d": pa.array([2**62, None], pa.duration("s")), "k": [1, 2]}))
    assert found == [(0, "k = 1")] and "cannot be represented" in errors[0]


def test_durations_of_numpy_are_not_numbers() -> None:
    """Whatever their unit; NaT is absent."""
    events = [{"d": np.timedelta64(5, unit), "k": 1} for unit in ("M", "ns", "s")] + [
        {"d": np.timedelta64("NaT"), "k": 1}
    ]
    found, errors = matched(["d > 1", "d IS NULL", "k = 1"], events)
    assert found == [*((row, "k = 1") for row in range(3)), (3, "d IS NULL"), (3, "k = 1")]
    assert errors == dict.fromkeys(range(3), "a timedelta64 is not a value")
