"""Names of folders are columns for workers that read files, and in pipelines: the answers of `tocsin.match`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.running import run

pytestmark = [pytest.mark.spark, pytest.mark.slow("each run is a query of Spark")]

ASKED = ["day = 2", "day IS NULL", "k = 'k1' AND day = 1", "city = 'São Paulo'", "day = 7"]
DAYS = ("1", "2", "__HIVE_DEFAULT_PARTITION__")
WRITERS: dict[str, Callable[[str, Path], Any]] = {
    "parquet": lambda key, path: pq.write_table(pa.table({"day": [7], "k": [key]}), path),
    "json": lambda key, path: path.write_text(json.dumps({"k": key, "day": 7}) + "\n"),
    "csv": lambda key, path: path.write_text(f"k\n{key}\n"),
}


def events_in(folder: Path, form: str) -> Path:
    """A file for each day; all but those of CSV have a day of their own."""
    for day in DAYS:
        within = folder / "events" / f"day={day}" / "city=S%C3%A3o%20Paulo"
        within.mkdir(parents=True)
        WRITERS[form](f"k{day[:1]}", within / f"a.{form}")
    return folder / "events"


def expected(events: Path) -> dict[str, list[str]]:
    answer = tocsin.match([{"id": where, "where": where} for where in ASKED], events, event_key="k", lists=True)
    assert not answer.errors
    return {row["event_key"]: sorted(row["subscription"]) for row in answer.table.to_pylist()}


def matched(rows: Any) -> dict[str, list[str]]:
    return {row["k"]: sorted(match["subscription"] for match in row["matches"]) for row in rows}


def test_workers_read_the_names_of_folders(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """As columns of the answer as well, in the place of those that files have; alone, and in a stream."""
    events = events_in(tmp_path, "parquet")
    index, _ = compiled([{"id": where, "where": where} for where in ASKED], partitions=2)
    frame = tocsin_spark.match_parquet(spark, events, index)
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    assert matched(rows) == expected(events)
    assert {row["k"]: (row["day"], row["city"]) for row in rows} == {
        "k1": (1, "São Paulo"), "k2": (2, "São Paulo"), "k_": (None, "São Paulo"),
    }  # fmt: skip

    tocsin_spark.match_to_parquet(spark, events, index, tmp_path / "out")
    assert matched(pq.read_table(tmp_path / "out").to_pylist()) == expected(events)

    found = tocsin_spark.match_parquet(spark, events, index, columns=["day"], attributes=["day"]).collect()
    assert sorted(len(row["matches"]) for row in found) == [0, 1, 1]

    seen: list[Any] = []
    stream = tocsin_spark.match_parquet(spark, events, index, stream=True)
    writer = stream.writeStream.foreachBatch(lambda batch, _: seen.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert matched(row.asDict(recursive=True) for row in seen) == expected(events)


@pytest.mark.parametrize("form", WRITERS)
def test_pipelines_read_the_names_of_folders(spark: Any, tmp_path: Path, form: str) -> None:
    events = events_in(tmp_path, form)
    (tmp_path / "s.jsonl").write_text("".join(json.dumps({"id": where, "where": where}) + "\n" for where in ASKED))
    schema = 'schema = "k string, day int, city string"' if form == "csv" else ""
    (tmp_path / "pipeline.toml").write_text(
        f'[events]\nkind = "files"\npath = "events"\nformat = "{form}"\n{schema}\n'
        '[subscriptions]\nindex = "index"\npath = "s.jsonl"\n[sink]\nkind = "files"\npath = "matches"\n'
        'format = "json"\n[match]\nexplode = false\n[run]\ncheckpoint = "checkpoint"\n'
    )
    run(read_pipeline(tmp_path / "pipeline.toml"), once=True)
    rows = [json.loads(line) for file in (tmp_path / "matches").glob("*/*.json") for line in file.open()]
    assert all("tocsin_file" not in row for row in rows)
    assert matched(json.loads(row["value"]) | row if form == "json" else row for row in rows) == expected(events)
