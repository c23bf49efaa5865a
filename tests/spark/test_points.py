"""A place in two columns is one place on Spark, too: in columns, in JSON, by file, and where events go to parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tests.spark.test_placements import compiled, placement_for
from tests.spark.test_visits import rows_of, shuffled
from tocsin.errors import InvalidInput
from tocsin.segment import IndexFolder
from tocsin.spark.answering import MatchOptions, answer
from tocsin.spark.asking import asked_of

POINTS = {"place": ("at.lon", "lat")}
SUBSCRIPTIONS = [
    {"id": f"{x}-{y}", "where": f"S_INTERSECTS(place, BBOX({x}, {y}, {x + 1.5}, {y + 1.5})) AND n >= {x}", "score": 1.0}
    for x in range(5)
    for y in range(5)
]
EVENTS: list[dict[str, Any]] = [
    {"at": {"lon": x / 2} if x % 5 else None, "lat": y / 2, "n": 3.0, "key": 10 * x + y}
    for x in range(10)
    for y in range(10)
]
(BATCH,) = pa.Table.from_pylist(EVENTS).combine_chunks().to_batches()
COLUMNS = tuple(BATCH.schema.names)


@pytest.fixture(scope="module")
def expected() -> list[list[str]]:
    found: list[list[str]] = [[] for _ in EVENTS]
    for row in tocsin.match(SUBSCRIPTIONS, EVENTS, points=POINTS):
        found[row["event"]].append(row["subscription"])
    assert sum(map(len, found)) > 50
    return found


def names(rows: Any) -> list[list[str]]:
    return [[match["subscription"] for match in row] for row in rows]


def test_columns_and_json_make_the_same_points(tmp_path: Path, expected: list[list[str]]) -> None:
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    engine.save(tmp_path / "index")
    snapshots = IndexFolder.read(tmp_path / "index").open()
    lines = pa.RecordBatch.from_pydict({"json": list(map(json.dumps, EVENTS))})

    as_columns = answer(BATCH, MatchOptions(COLUMNS, COLUMNS, points=POINTS), snapshots)
    as_json = answer(lines, MatchOptions(("json",), (), json="json", points=POINTS), snapshots)

    assert names(as_columns["matches"].to_pylist()) == names(as_json["matches"].to_pylist()) == expected


def test_events_go_to_the_parts_of_their_points(tmp_path: Path, expected: list[list[str]]) -> None:
    compiled(tmp_path, SUBSCRIPTIONS, placement_for("location", 4))
    folder, asked = IndexFolder.read(tmp_path), MatchOptions(COLUMNS, COLUMNS, points=POINTS)

    found = rows_of(shuffled(folder, BATCH, asked), "key")

    assert names(row["matches"] for row in found) == expected


@pytest.mark.spark
def test_every_way_of_matching_takes_points(spark: Any, tmp_path: Path, expected: list[list[str]]) -> None:
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    engine.save(tmp_path / "index")
    (tmp_path / "events").mkdir()
    pq.write_table(pa.Table.from_batches([BATCH]), tmp_path / "events" / "0.parquet")
    frame = spark.read.parquet(str(tmp_path / "events"))

    rows = tocsin_spark.match(frame, tmp_path / "index", points=POINTS)
    of_files = tocsin_spark.match_parquet(spark, tmp_path / "events", tmp_path / "index", points=POINTS)
    tocsin_spark.match_to_parquet(spark, tmp_path / "events", tmp_path / "index", tmp_path / "out", points=POINTS)

    written = pq.read_table(tmp_path / "out").to_pylist()
    for answered in (rows.collect(), of_files.collect(), written):
        ordered = sorted(answered, key=lambda row: row["key"])
        assert names(row["matches"] for row in ordered) == expected
    with pytest.raises(InvalidInput, match="points makes 'place' of 'lon', which is not an attribute"):
        asked_of(frame, points={"place": ("lon", "lat")})
    with pytest.raises(InvalidInput, match="points is 5; it maps names to pairs"):
        tocsin_spark.match(frame, tmp_path / "index", points=5)  # type: ignore[arg-type]
