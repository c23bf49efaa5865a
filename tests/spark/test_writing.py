"""What workers write themselves is what Spark would have written, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tocsin.errors import InvalidInput
from tocsin.model.ranking import Ranking
from tocsin.spark import WriteReport
from tocsin.spark.writing import _publish

pytestmark = pytest.mark.spark

SUBSCRIPTIONS = [{"id": f"n{k}", "where": f"n >= {k} AND n < {k + 3}", "score": k % 4.0} for k in range(20)]
ROWS = 300
ODD = 7
"""The row with a number that is none."""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Several row groups, one file without rows, and a value that cannot be represented."""
    folder = tmp_path / "events"
    folder.mkdir()
    values = [float("inf") if k == ODD else k % 23 - 1.0 for k in range(ROWS)]
    table = pa.table({"key": pa.array(range(ROWS), pa.int64()), "n": pa.array(values)})
    pq.write_table(table, folder / "a.parquet", row_group_size=40)
    pq.write_table(table.slice(0, 0), folder / "empty.parquet")
    return folder


@pytest.mark.parametrize(("ranking", "explode"), [(None, False), (tocsin.Top(2), True)])
def test_the_rows_are_those_that_spark_writes(
    spark: Any, compiled: Any, events: Path, tmp_path: Path, ranking: Ranking | None, explode: bool
) -> None:
    """And they are counted; another run needs `overwrite`, and leaves what is there where it may not."""
    index, _ = compiled(SUBSCRIPTIONS)
    out = tmp_path / "out"
    given = {"attributes": ["n"], "ranking": ranking, "explode": explode, "event_id": "key" if explode else None}

    report = tocsin_spark.match_to_parquet(spark, events, index, out, **given)

    expected = tocsin_spark.match_parquet(spark, events, index, **given)
    assert _rows(spark.read.parquet(str(out))) == _rows(expected)
    assert spark.read.parquet(str(out)).columns == expected.columns
    matches = expected.count() if explode else sum(len(row["matches"]) for row in expected.collect())
    assert (report.events, report.matches, report.rejected, report.reported) == (ROWS, matches, 0, 1)
    assert report.version == tocsin.segment.IndexFolder.read(index).version
    assert {one.name for one in out.glob("*.parquet")} == {f"part-{k:05d}.parquet" for k in range(report.files)}
    with pytest.raises(InvalidInput, match="out is there already; give another folder, or overwrite=True"):
        tocsin_spark.match_to_parquet(spark, events, index, out, **given)
    again = tocsin_spark.match_to_parquet(spark, events, index, out, overwrite=True, **given)
    assert again == report
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events", "index", "out"]


def test_a_run_that_fails_changes_nothing(spark: Any, compiled: Any, events: Path, tmp_path: Path) -> None:
    """What was there before stays, and nothing lies beside it."""
    index, _ = compiled(SUBSCRIPTIONS)
    out = tmp_path / "out"
    before = tocsin_spark.match_to_parquet(spark, events, index, out, attributes=["n"])
    files = {one.name: one.read_bytes() for one in out.iterdir()}
    whole = (events / "a.parquet").read_bytes()
    (events / "a.parquet").write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])

    with pytest.raises(Exception, match="cannot be read as Parquet"):
        tocsin_spark.match_to_parquet(spark, events, index, out, attributes=["n"], overwrite=True)

    assert before.events == ROWS
    assert {one.name: one.read_bytes() for one in out.iterdir()} == files
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events", "index", "out"]


def test_what_killed_tasks_left_is_not_published(tmp_path: Path) -> None:
    """A task that is tried again writes its file under its name; what it wrote before lies under another one."""
    beside, out = tmp_path / "out.1.part", tmp_path / "out"
    beside.mkdir()
    for name in ("part-00000.parquet", "part-00000.parquet.12ab34cd.part"):
        (beside / name).touch()

    _publish(beside, out, {"part-00000.parquet"})

    assert sorted(one.name for one in out.iterdir()) == ["_SUCCESS", "part-00000.parquet"]


def test_no_events_make_an_empty_table(spark: Any, compiled: Any, events: Path, tmp_path: Path) -> None:
    """With its columns."""
    index, _ = compiled(SUBSCRIPTIONS)
    (events / "a.parquet").unlink()

    report = tocsin_spark.match_to_parquet(spark, events, index, tmp_path / "out", attributes=["n"])

    assert report == WriteReport(1, 0, 0, 0, 0, 0, 0, report.version)
    assert spark.read.parquet(str(tmp_path / "out")).columns == ["key", "n", "matches", "error"]


def test_a_file_is_no_folder(spark: Any, compiled: Any, events: Path, tmp_path: Path) -> None:
    """Refused before anything is done."""
    index, _ = compiled(SUBSCRIPTIONS)
    (tmp_path / "out").touch()

    with pytest.raises(InvalidInput, match="it is a file; give the name of a folder"):
        tocsin_spark.match_to_parquet(spark, events, index, tmp_path / "out")


def _rows(frame: Any) -> list[Any]:
    return sorted(map(tuple, frame.collect()))
