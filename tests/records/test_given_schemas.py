"""Datasets of Arrow that were given a schema, and those that were not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.errors import InvalidInput

ASKED = ["n = 3", "n = '3'", "city = 'Oslo'", "day = 2"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of numbers, and one of texts that has a column more."""
    for day, columns in ((1, {"n": [3]}), (2, {"n": ["3"], "city": ["Oslo"]})):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table(columns), tmp_path / f"day={day}" / "x.parquet")
    return tmp_path


def matched(dataset: Any) -> list[tuple[int, int]]:
    asked = [{"id": number, "where": where} for number, where in enumerate(ASKED)]
    return [(row["event"], row["subscription"]) for row in tocsin.match(asked, dataset).table.to_pylist()]


def test_without_a_schema_each_file_has_its_own(folder: Path) -> None:
    """Folders around files are columns."""
    assert matched(ds.dataset(folder, partitioning="hive")) == [(0, 0), (1, 1), (1, 2), (1, 3)]


def test_a_schema_that_was_given_holds(folder: Path) -> None:
    """Its types are those of the events, and what it leaves out no event has."""
    schema = pa.schema([("n", pa.string()), ("day", pa.int32())])

    assert matched(ds.dataset(folder, schema=schema, partitioning="hive")) == [(0, 1), (1, 1), (1, 3)]


def test_a_file_that_does_not_fit_a_given_schema_is_named(folder: Path) -> None:
    """Its values cannot be of the type that the user wants."""
    pq.write_table(pa.table({"n": ["many"]}), folder / "day=2" / "y.parquet")

    with pytest.raises(InvalidInput, match=r"day=2/y\.parquet cannot be read"):
        matched(ds.dataset(folder, schema=pa.schema([("n", pa.int32())]), partitioning="hive"))
