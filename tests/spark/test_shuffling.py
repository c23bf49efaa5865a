"""On Spark, an index that is said not to fit is matched by sending events to its parts: the same rows, streams too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Observation

import tocsin
import tocsin.spark as tocsin_spark
from tests.spark.test_families import EVENTS
from tests.spark.test_families import SCHEMA as COLUMNS
from tests.spark.test_placements import SUBSCRIPTIONS
from tests.spark.test_streams import Files, expected, matches, run
from tocsin.errors import InvalidInput
from tocsin.segment import IndexFolder

SCHEMA = f"key bigint, {COLUMNS}, `a.b` struct<c: string>"
RECORDS = [{"key": key, **event, "a.b": {"c": "ax"}} for key, event in enumerate(EVENTS.to_pylist())]
ATTRIBUTES = ["n", "m", "s", "place", "words"]


def compiled(spark: Any, folder: Path, partitions: int, placement: str) -> None:
    rows = [tuple(one.values()) for one in SUBSCRIPTIONS]
    frame = spark.createDataFrame(rows, "id string, where string, score double")
    tocsin_spark.compile(frame, folder, partitions=partitions, placement=placement)


@pytest.mark.spark
def test_spark_sends_events_to_the_parts_that_they_visit(spark: Any, tmp_path: Path) -> None:
    """Rows, columns of any name, a row a match, what is observed: as where the whole index is mapped."""
    compiled(spark, tmp_path, 3, "keyword")
    rows = [tuple(record.values()) for record in RECORDS]
    events = spark.createDataFrame(rows, SCHEMA).repartition(2)
    given: dict[str, Any] = {"attributes": ATTRIBUTES, "ranking": tocsin.Top(3)}
    seen = {how: Observation() for how in ("local", "shuffle")}

    found = {}
    for how, one in seen.items():
        matched = tocsin_spark.match(events, tmp_path, **given, routing=how, observe=one)
        found[how] = matched.schema, sorted(matched.collect())
    exploded = tocsin_spark.match(events, tmp_path, **given, explode=True, event_id="key", memory=1)

    assert found["shuffle"] == found["local"]
    assert {**seen["shuffle"].get, "candidates": 0, "verified": 0} == {
        **seen["local"].get,
        "candidates": 0,
        "verified": 0,
    }
    wanted = sorted((row["key"], *match) for row in found["local"][1] for match in row["matches"])
    assert sorted(tuple(row) for row in exploded.collect()) == wanted
    with pytest.raises(InvalidInput, match="routing is 'x'"):
        tocsin_spark.match(events, tmp_path, routing="x")


@pytest.mark.spark
@pytest.mark.parametrize("routing", ["local", "shuffle"])
def test_a_stream_goes_on_under_another_placement(spark: Any, tmp_path: Path, routing: str) -> None:
    """Compiled anew between micro-batches, with other parts; what is computed again has the placement that it had."""
    index, files = tmp_path / "index", Files(tmp_path / "events")
    placements = [("access", 3), ("location", 5), ("keyword", 2)]
    compiled(spark, index, 2, "hash")
    for first in range(0, 40, 10):
        files.add(RECORDS[first : first + 10])
    rows: list[Any] = []
    versions = set()

    def take(batch: Any, number: int) -> None:
        own = batch.collect()
        rows.extend(own)
        versions.add(IndexFolder.read(index).version)
        if number < len(placements):
            name, partitions = placements[number]
            compiled(spark, index, partitions, name)
        assert matches(batch.collect()) == matches(own)

    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(files.folder))
    matched = tocsin_spark.match(stream, index, attributes=ATTRIBUTES, routing=routing)
    run(matched, tmp_path / "checkpoint", take)

    events = [{"key": record["key"], **{name: record[name] for name in ATTRIBUTES}} for record in RECORDS[:40]]
    assert matches(rows) == expected(SUBSCRIPTIONS, events)
    assert len(versions) == 4
