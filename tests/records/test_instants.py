"""Texts and numbers that are instants, in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tocsin

MOMENT = "2024-01-01T10:00:00.123456Z"
SPELLINGS = [
    "2024-01-01T10:00:00.123456Z",
    "2024-01-01T10:00:00.1234567Z",
    "2024-01-01T10:00:00.123456789Z",
    "2024-01-01t10:00:00.1234569z",
    "2024-01-01 10:00:00.123456+0000",
    "2024-01-01T10:00:00.123456+00",
    "2024-01-01T15:30:00.123456+0530",
    "2024-01-01 05:00:00.123456789-05",
    "2024-01-01T10:00:00.123456",
]
OTHERS = ["2024-01-01T10:00:00.123456+5", "2024-01-01T10:00:00.123456+2400", "2024-01-01T10", "20240101T100000Z", "1"]
ASKED = [{"id": "at", "where": f"ts = TIMESTAMP('{MOMENT}')"}]


def forms_of(values: list[Any], folder: Path) -> dict[str, Any]:
    (folder / "x.csv").write_text("ts\n" + "".join(f"{value}\n" for value in values))
    return {
        "dicts": [{"ts": value} for value in values],
        "json": "".join(json.dumps({"ts": value}) + "\n" for value in values).encode(),
        "arrow": pa.table({"ts": values}),
        "pandas": pd.DataFrame({"ts": values}),
        "csv": str(folder / "x.csv"),
    }


def matched(source: Any, schema: Any = None, asked: Any = ASKED) -> list[int]:
    return [row["event"] for row in tocsin.match(asked, source, schema=schema).table.to_pylist()]


@pytest.mark.parametrize("schema", [None, {"ts": "instant"}, {"ts": "instant(ms)"}])
def test_all_forms_read_the_same_texts(tmp_path: Path, schema: Any) -> None:
    """Whether a type is given or not; digits after the sixth are left out."""
    for form, source in forms_of(SPELLINGS, tmp_path).items():
        assert matched(source, schema) == list(range(len(SPELLINGS))), form
    for one in OTHERS:
        for form, source in forms_of([one, SPELLINGS[0]], tmp_path).items():
            assert matched(source, schema) in ([1], []) and 0 not in matched(source, schema), (form, one)


def test_constants_are_read_like_events() -> None:
    """Every spelling that an event may have is one that TIMESTAMP takes."""
    for one in SPELLINGS:
        assert matched([{"ts": MOMENT}], asked=[{"id": 1, "where": f"ts = TIMESTAMP('{one}')"}]) == [0]


@pytest.mark.parametrize(
    ("unit", "number"),
    [("s", 1704103200), ("ms", 1704103200123), ("us", 1704103200123456), ("ns", 1704103200123456789)],
)
def test_numbers_count_from_1970_where_the_schema_says_so(tmp_path: Path, unit: str, number: int) -> None:
    """In every form; before 1970 too; a number that the schema says nothing of is a number."""
    moment = pd.Timestamp(number, unit=unit).floor("us").isoformat()
    asked = [
        {"id": "at", "where": f"ts = TIMESTAMP('{moment}Z')"},
        {"id": "old", "where": "ts < TIMESTAMP('1970-01-01T00:00:00Z')"},
    ]
    for form, source in forms_of([number, -1], tmp_path).items():
        assert matched(source, {"ts": f"instant({unit})"}, asked) == [0, 1], form
        assert matched(source, None, asked) == [], form


def test_a_number_beyond_all_dates_is_a_misfit(tmp_path: Path) -> None:
    """It is told with its row, in every form."""
    for form, source in forms_of([10**15, 0], tmp_path).items():
        answer = tocsin.match(
            [{"id": 1, "where": "ts IS NOT NULL AND NOT ts < DATE('1970-01-01')"}], source, schema={"ts": "instant(s)"}
        )
        assert [error.row for error in answer.errors] == [0], form
        assert answer.table["event"].to_pylist() == [1], form


def test_fractions_of_seconds_keep_their_microseconds(tmp_path: Path) -> None:
    """A number of seconds may have a fraction."""
    asked = [{"id": 1, "where": "ts = TIMESTAMP('2024-01-01T10:00:00.5Z')"}]
    for form, source in forms_of([1704103200.5], tmp_path).items():
        assert matched(source, {"ts": "instant(s)"}, asked) == [0], form


def test_other_integers_stay_what_they_are() -> None:
    """Only what the schema names counts nanoseconds; an integer beyond 64 bits is a misfit."""
    asked = [{"id": 1, "where": "ts > DATE('2024-01-01') OR n = 5"}]
    answer = tocsin.match(asked, [{"ts": 2**64, "n": 5}, {"ts": True}, {"n": 2**60}], schema={"ts": "instant(ns)"})

    assert answer.table["event"].to_pylist() == [0]
    assert sorted(error.row for error in answer.errors) == [0, 1, 2]
