"""Each Parquet file is read by its own schema, and the files of a table with a log are not read at all."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.errors import InvalidInput

NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
TABLES = [
    pa.table({"v": [1]}),
    pa.table({"v": ["3"], "city": ["Oslo"]}),
    pa.table({"v": [3.0], "s": [{"x": 1}]}),
    pa.table({"v": [True], "s": [{"x": 1, "y": 2}]}),
    pa.table({"v": [dt.date(2024, 5, 1)]}),
    pa.table({"v": [NOON]}),
    pa.table({"v": [[1, 2]], "city": [5]}),
    pa.table({"v": [{"w": 1}]}),
]
ASKED = [
    "v = 1",
    "v = 3",
    "v = '3'",
    "v = TRUE",
    "v = DATE('2024-05-01')",
    "v = TIMESTAMP('2024-05-01T12:00:00Z')",
    "A_CONTAINS(v, (1))",
    "v.w = 1",
    "city = 'Oslo'",
    "city = 5",
    "s.y = 2",
    "x IS NULL",
]


def matched(source: Any, asked: list[str] = ASKED) -> tuple[list[tuple[int, str]], list[Any]]:
    records = [{"id": f"{number:02}", "where": where} for number, where in enumerate(asked)]
    answer = tocsin.match(records, source)
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()], answer.errors


@pytest.mark.parametrize("first", range(0, len(TABLES), 3))
def test_a_folder_answers_like_its_files_one_after_another(tmp_path: Path, first: int) -> None:
    """Whatever file comes first, and in every form that means several files."""
    tables = TABLES[first:] + TABLES[:first]
    files = [tmp_path / "e" / f"{number}.parquet" for number in range(len(tables))]
    (tmp_path / "e").mkdir()
    for file, table in zip(files, tables, strict=True):
        pq.write_table(table, file)
    expected = [(row, one) for row, table in enumerate(tables) for _, one in matched(table)[0]]

    for source in (tmp_path / "e", f"{tmp_path}/e/*.parquet", files, ds.dataset(tmp_path / "e"), ds.dataset(files)):
        assert matched(source) == (expected, [])


def test_partitions_have_one_type_and_any_files(tmp_path: Path) -> None:
    """Folders' names are numbers where all of them are, and else text; a missing value is absence."""
    for number, (day, code) in enumerate(itertools.product(("1", "2"), ("7", "x%2Fy", "__HIVE_DEFAULT_PARTITION__"))):
        place = tmp_path / f"day={day}" / f"code={code}"
        place.mkdir(parents=True)
        pq.write_table(TABLES[number], place / "1.parquet")
    asked = ["day = 2", "code = '7'", "code = 'x/y'", "code IS NULL", "city = 'Oslo'", "s.y = 2"]

    found, errors = matched(tmp_path, asked)

    assert errors == []
    assert found == [
        (0, "01"), (1, "03"), (2, "02"), (2, "04"), (3, "00"), (3, "01"), (3, "05"), (4, "00"), (4, "03"),
        (5, "00"), (5, "02"),
    ]  # fmt: skip


def test_a_filtered_dataset_is_read_by_its_schema_or_refused(tmp_path: Path) -> None:
    """Its files are not shown one by one, so a file that differs is named."""
    pq.write_table(pa.table({"v": [1, 3]}), tmp_path / "1.parquet")
    same = ds.dataset(tmp_path).filter(ds.field("v") > 1)
    assert matched(same)[0] == [(0, "01"), (0, "11")]
    pq.write_table(TABLES[1], tmp_path / "2.parquet")

    with pytest.raises(
        InvalidInput, match=r"2\.parquet has the column 'v' as string, which the filtered dataset has as"
    ):
        matched(ds.dataset(tmp_path, schema=pa.schema([("v", pa.int64())])).filter(ds.field("v") > 1))


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("Delta", "_delta_log/00000000000000000000.json"),
        ("Iceberg", "metadata/v1.metadata.json"),
        ("Hudi", ".hoodie/hoodie.properties"),
    ],
)
def test_tables_with_a_log_are_refused(tmp_path: Path, name: str, sign: str) -> None:
    """As a folder, a folder within it, a pattern and a dataset; a file that is named is read."""
    inner = tmp_path / "t" / "day=1"
    inner.mkdir(parents=True)
    pq.write_table(pa.table({"v": [1]}), inner / "1.parquet")
    (tmp_path / "t" / sign).parent.mkdir()
    (tmp_path / "t" / sign).write_text("{}")

    for source in (tmp_path / "t", inner, f"{tmp_path}/t/*/*.parquet", ds.dataset(inner)):
        with pytest.raises(InvalidInput, match=rf"t is a table of {name}: .* Read it in Python with"):
            matched(source)
    assert matched(inner / "1.parquet")[0] == [(0, "00"), (0, "11")]
