"""Names of folders are columns for every format, in folders, patterns and lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.records import read_events
from tocsin.records.chunks import LinesChunk
from tocsin.records.formats import FORMATS


def _arrow(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table)


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "json": lambda table, path: path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist())),
    "csv": lambda table, path: pa.csv.write_csv(table, path),
    "parquet": pq.write_table,
    "arrow": _arrow,
}


@pytest.fixture(params=WRITERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Files of two days and a day without a name; each record has a day of its own."""
    import pyarrow.csv  # noqa: F401

    for day in ("1", "2", "__HIVE_DEFAULT_PARTITION__"):
        inner = tmp_path / "data" / f"day={day}" / "city=S%C3%A3o%20Paulo"
        inner.mkdir(parents=True)
        table = pa.table({"k": [f"a{day[:1]}", f"b{day[:1]}"], "day": [7, 7]})
        WRITERS[request.param](table, inner / f"part-0{FORMATS[request.param].endings[0]}")
    return tmp_path / "data"


ASKED = ["day = 2", "day IS NULL", "k = 'b1' AND day = 1", "city = 'São Paulo'", "day = 7", "day = '2'"]


def matched(source: Any, **options: Any) -> set[tuple[int, str]]:
    answer = tocsin.match([{"id": where, "where": where} for where in ASKED], source, **options)
    assert not answer.errors
    return {(row["event"], row["subscription"]) for row in answer.table.to_pylist()}


def test_folders_are_columns_and_replace_the_values_of_records(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    by_day = {(1, ASKED[2]), (2, ASKED[0]), (3, ASKED[0]), (4, ASKED[1]), (5, ASKED[1])}
    for source in (folder, f"{folder}/*/*/*", f"{folder}/**", files, [str(file) for file in files]):
        assert matched(source) == by_day | {(row, ASKED[3]) for row in range(6)}


def test_only_folders_below_what_is_common_are_columns(folder: Path) -> None:
    first = folder / "day=1"
    for source in (first, f"{first}/*/*", [next(first.rglob("part*"))], next(first.rglob("part*"))):
        found = matched(source)
        assert {(0, ASKED[4]), (1, ASKED[4])} <= found and not {(1, ASKED[2])} & found


def test_a_schema_says_the_type_of_a_column_of_folders(folder: Path) -> None:
    assert {row for row, where in matched(folder, schema={"day": "string"}) if where == ASKED[5]} == {2, 3}


def test_lines_are_parsed_only_for_columns_that_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a.jsonl").write_text('{"k": 1}\n{"k": 2, "k": 3}\n')
    chunks = list(read_events(tmp_path, lambda name: name == "k"))
    assert all(isinstance(chunk, LinesChunk) for chunk in chunks)
    answer = tocsin.match({"id": 1, "where": "day = 1"}, tmp_path)
    assert answer.table["event"].to_pylist() == [0]
    assert [(reject.row, reject.field) for reject in answer.errors] == [(1, "k")]


def test_files_of_several_formats_have_the_columns_of_their_folders(tmp_path: Path) -> None:
    for day, (form, write) in enumerate(WRITERS.items()):
        (tmp_path / f"day={day}").mkdir()
        write(pa.table({"k": [form]}), tmp_path / f"day={day}" / f"a{FORMATS[form].endings[0]}")
    asked = [{"id": f"{form} {day}", "where": f"k = '{form}' AND day = {day}"} for day, form in enumerate(WRITERS)]
    assert {row["subscription"] for row in tocsin.match(asked, tmp_path).table.to_pylist()} == {
        one["id"] for one in asked
    }
