"""Files of one folder whose columns differ."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.errors import InvalidInput

FILES = {
    "day=1/1": {"k": ["a"], "s": [{"x": 1}], "at": [dt.date(2024, 1, 1)], "n": [3], "m": pa.array([1], pa.int32())},
    "day=2/2": {"k": ["b"], "s": [{"x": 1, "y": 2}], "at": [dt.datetime(2024, 1, 1, 10)], "n": ["3"], "city": ["Oslo"]},
    "day=2/3": {"k": ["c"], "at": ["soon"], "n": [3.5], "m": [2**40], "s": ["none"]},
}
ASKED = ["city = 'Oslo'", "s.y = 2", "at > TIMESTAMP('2024-01-01T09:00:00Z')", "n = 3", "n = '3'", "day = 2", "m > 5"]
EXPECTED = {(0, 3), (1, 0), (1, 1), (1, 2), (1, 4), (1, 5), (2, 5), (2, 6)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, columns in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    return tmp_path


def matched(source: Any) -> set[tuple[int, int]]:
    subscriptions = [{"id": number, "where": where} for number, where in enumerate(ASKED)]
    answer = tocsin.match(subscriptions, source)
    assert not answer.errors
    return {(row["event"], row["subscription"]) for row in answer.table.to_pylist()}


def test_each_file_is_read_by_its_own_schema(folder: Path) -> None:
    """A folder, a dataset and a dataset of datasets give what the files alone give, and no false warning."""
    dataset = ds.dataset(folder, partitioning="hive")

    assert matched(folder) == EXPECTED
    assert matched(dataset) == EXPECTED
    assert matched(ds.dataset([dataset])) == EXPECTED
    assert {pair for pair in EXPECTED if pair[1] != 5} == matched(str(folder / "*/*.parquet"))


def test_a_schema_that_a_dataset_was_given_holds(folder: Path) -> None:
    """The types of the dataset are those of its events, whatever a file has."""
    schema = pa.schema([("n", pa.string()), ("city", pa.string())])
    dataset = ds.dataset([folder / "day=1/1.parquet", folder / "day=2/2.parquet"], schema=schema)

    assert matched(dataset) == {(0, 4), (1, 0), (1, 4)}


def test_a_filter_over_files_that_differ_is_refused(folder: Path) -> None:
    """Columns that the schema of the dataset leaves out would be lost; alike files are read by the filter."""
    with pytest.raises(InvalidInput, match=r"2\.parquet has the column 's'.*give the dataset a schema"):
        matched(ds.dataset(folder, partitioning="hive").filter(ds.field("day") == 2))
    alike = ds.dataset(folder / "day=2/2.parquet").filter(ds.field("city") == "Bergen")

    assert matched(alike) == set()


@pytest.mark.parametrize(
    ("values", "asked"), [(["1", "02"], "p = 2"), (["1", "b"], "p = 'b'"), (["a", "x%2Fy"], "p = 'x/y'")]
)
def test_folders_stand_for_columns(tmp_path: Path, values: list[str], asked: str) -> None:
    """A column is of numbers where all of its values are; names are unquoted; a null is absence."""
    for value in [*values, "__HIVE_DEFAULT_PARTITION__"]:
        (tmp_path / f"p={value}").mkdir()
        pq.write_table(pa.table({"k": [value]}), tmp_path / f"p={value}" / "1.parquet")

    answer = tocsin.match([{"id": "x", "where": f"{asked} OR p IS NULL"}], tmp_path)

    assert answer.table.num_rows == 2
