"""A stream of events is matched as a batch is, each micro-batch by one version of the index that is recorded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tests.naive.changes import Changing
from tocsin.errors import SegmentError
from tocsin.segment import IndexFolder

pytestmark = [pytest.mark.spark, pytest.mark.slow("each test runs queries of Spark")]

SCHEMA = "key bigint, n double, s string, place array<double>, words array<string>"
CHANGE_SCHEMA = "id string, change string, version bigint, where string, score double"
SUBSCRIPTIONS = [
    *(
        {"id": f"n{number}", "where": f"n >= {number} AND n < {number + 3}", "score": number % 4.0}
        for number in range(20)
    ),
    {"id": "s", "where": "s LIKE 'a%' OR n IS NULL", "score": 9.0},
    {"id": "box", "where": "S_INTERSECTS(place, BBOX(0, 0, 2, 2))"},
    {"id": "words", "where": "S_INTERSECTS(place, BBOX(0, 0, 5, 5)) AND A_CONTAINS(words, ('a', 'b'))"},
]
EVENTS = [
    {"key": k, "n": k % 23.0, "s": "ab"[k % 2] + "x", "place": [k % 7.0, k % 3.0], "words": ["a", "b"][: 1 + k % 2]}
    for k in range(60)
]
RANKINGS = [None, tocsin.Top(2), tocsin.Relaxed(2), tocsin.Similar(0.5, 0.6)]


class Files:
    """A folder of JSON files that a stream reads, one file a micro-batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        folder.mkdir()

    def add(self, records: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(record) + "\n" for record in records)
        aside = self.folder.parent / "aside"
        aside.write_text(text)
        os.utime(aside, (1e9 + self._count, 1e9 + self._count))  # Spark takes the oldest first
        aside.rename(self.folder / f"{self._count:04d}.json")
        self._count += 1


def run(frame: Any, checkpoint: Path, take: Callable[[Any, int], None]) -> None:
    """Run a stream over all that is there, each micro-batch through a function."""
    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(120)


def matches(rows: list[Any]) -> dict[int, Any]:
    return {row["key"]: row["matches"] and [tuple(match) for match in row["matches"]] for row in rows}


def expected(subscriptions: list[dict[str, Any]], events: list[dict[str, Any]], ranking: Any = None) -> dict[int, Any]:
    """What one process answers."""
    engine = tocsin.Engine()
    assert not engine.subscribe_many(subscriptions).errors
    return {
        event["key"]: [
            tuple(match) for match in engine.match({k: v for k, v in event.items() if k != "key"}, ranking=ranking)
        ]
        for event in events
    }


def stream(spark: Any, folder: Path, schema: str = SCHEMA) -> Any:
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


@pytest.mark.parametrize("partitions", [1, 2, 7, 16])
def test_a_stream_answers_like_one_process(spark: Any, compiled: Any, tmp_path: Path, partitions: int) -> None:
    """All matches, and the rankings by turns, of an index of so many parts."""
    folder, _ = compiled(SUBSCRIPTIONS, partitions=partitions)
    files = Files(tmp_path / "events")
    for first in range(0, 60, 20):
        files.add(EVENTS[first : first + 20])
    rankings = RANKINGS if partitions == 2 else [RANKINGS[partitions % 4]]
    for number, ranking in enumerate(rankings):
        rows: list[Any] = []
        attributes = ["n", "s", "place", "words"]
        matched = tocsin_spark.match(stream(spark, files.folder), folder, attributes=attributes, ranking=ranking)

        run(matched, tmp_path / f"checkpoint-{number}", lambda batch, _, rows=rows: rows.extend(batch.collect()))

        assert matches(rows) == expected(SUBSCRIPTIONS, EVENTS, ranking)


def test_each_micro_batch_answers_by_the_version_that_it_began_with(spark: Any, tmp_path: Path) -> None:
    """With changes between micro-batches: like a dictionary that was fed in the same order."""
    index, files, answers = tmp_path / "index", Files(tmp_path / "events"), {}
    oracle = Changing()
    put(spark, index, oracle, [("a", "insert", 1, "n >= 0", 1.0), ("b", "insert", 1, "n = 1", None)])
    steps = [
        [("a", "delete", 5, None, None), ("c", "insert", 1, "n = 2", 3.0)],
        [("b", "rescore", 2, None, 7.0), ("a", "insert", 4, "n >= 0", None)],
        [("c", "update", 2, "n < 2", None), ("a", "insert", 6, "n = 0", None)],
    ]
    for _ in range(4):
        files.add(EVENTS[:5])
    truth = []

    def take(batch: Any, number: int) -> None:
        answers[number] = matches(batch.collect())
        records = [
            {"id": name, "where": where, "score": score} for name, (where, score) in oracle.subscriptions.items()
        ]
        truth.append(expected(records, EVENTS[:5]))
        if number < len(steps):
            put(spark, index, oracle, steps[number])
        assert matches(batch.collect()) == answers[number]  # computed again, after the change

    run(tocsin_spark.match(stream(spark, files.folder), index), tmp_path / "checkpoint", take)

    assert [answers[number] for number in range(4)] == truth


def put(spark: Any, index: Path, oracle: Changing, changes: list[Any]) -> None:
    frame = spark.createDataFrame(changes, CHANGE_SCHEMA)
    report = tocsin_spark.update(frame, index)
    assert report.rejected == 0
    oracle.take([row.asDict() for row in frame.collect()], lambda _: True)


def test_a_micro_batch_that_is_replayed_uses_the_version_of_its_first_attempt(spark: Any, tmp_path: Path) -> None:
    """The query fails in its second micro-batch, the index changes, the query is started again."""
    index, files, oracle = tmp_path / "index", Files(tmp_path / "events"), Changing()
    put(spark, index, oracle, [("a", "insert", 1, "n >= 0", None)])
    files.add(EVENTS[:2])
    files.add(EVENTS[2:4])
    seen: dict[int, list[Any]] = {}

    def take(batch: Any, number: int) -> None:
        seen.setdefault(number, []).append(matches(batch.collect()))
        if number == 1 and len(seen[1]) == 1:
            raise RuntimeError("the sink is gone")

    with pytest.raises(Exception, match="the sink is gone"):
        run(tocsin_spark.match(stream(spark, files.folder), index), tmp_path / "checkpoint", take)
    put(spark, index, oracle, [("a", "delete", 2, None, None), ("new", "insert", 1, "n >= 0", None)])
    files.add(EVENTS[4:6])
    run(tocsin_spark.match(stream(spark, files.folder), index), tmp_path / "checkpoint", take)

    assert seen[1][0] == seen[1][1] == {2: [("a", 1.0)], 3: [("a", 1.0)]}
    assert seen[2] == [{4: [("new", 1.0)], 5: [("new", 1.0)]}]


def test_a_version_that_is_gone_is_refused(spark: Any, tmp_path: Path) -> None:
    """A replay whose version was deleted by hand does not answer from another one."""
    index, files = tmp_path / "index", Files(tmp_path / "events")
    put(spark, index, Changing(), [("a", "insert", 1, "n >= 0", None)])
    version = IndexFolder.read(index).version
    files.add(EVENTS[:2])

    def fail(batch: Any, number: int) -> None:
        batch.collect()
        raise RuntimeError("the sink is gone")

    with pytest.raises(Exception, match="the sink is gone"):
        run(tocsin_spark.match(stream(spark, files.folder), index), tmp_path / "checkpoint", fail)
    put(spark, index, Changing(), [("b", "insert", 1, "n >= 0", None)])
    shutil.rmtree(index / f"version-{version}")

    with pytest.raises(Exception, match=f"began with version {version}, which was deleted"):
        run(tocsin_spark.match(stream(spark, files.folder), index), tmp_path / "checkpoint", fail)


def test_ids_that_become_of_another_kind_are_refused(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """The query's rows have a type from its start."""
    folder, _ = compiled([{"id": "a", "where": "n >= 0"}])
    files = Files(tmp_path / "events")
    files.add(EVENTS[:2])
    matched = tocsin_spark.match(stream(spark, files.folder), folder)
    compiled([{"id": 1, "where": "n >= 0"}])

    with pytest.raises(Exception, match=r"has int64 ids in version .* but had string ids when the query began"):
        run(matched, tmp_path / "checkpoint", lambda batch, _: batch.collect())


def test_a_missing_index_is_refused_at_once(spark: Any, tmp_path: Path) -> None:
    """Not when the first event comes."""
    (tmp_path / "events").mkdir()
    with pytest.raises(SegmentError, match=r"there is no folder .*nowhere"):
        tocsin_spark.match(stream(spark, tmp_path / "events"), tmp_path / "nowhere")


def test_changes_are_followed_while_events_are_matched(spark: Any, tmp_path: Path) -> None:
    """Each micro-batch of changes is a version; rejects are set aside; started again, nothing is taken twice."""
    index, files, oracle = tmp_path / "index", Files(tmp_path / "changes"), Changing()
    reports: list[tocsin_spark.UpdateReport] = []
    columns = [name.split()[0] for name in CHANGE_SCHEMA.split(", ")]
    steps = [
        [("a", "insert", 1, "n >= 0", 1.0), ("b", "insert", 1, "n = 1", 2.0)],
        [("a", "delete", 2, None, None), ("bad", "insert", 1, "n =", None)],
        [("b", "rescore", 2, None, 5.0), ("late", "insert", 3, "n < 9", None)],
        [("late", "update", 2, "n > 1000", None)],
    ]
    records = [[dict(zip(columns, change, strict=True)) for change in step] for step in steps]
    for step in records[:3]:
        files.add(step)

    def follow() -> None:
        changes = stream(spark, files.folder, CHANGE_SCHEMA)
        query = tocsin_spark.follow(
            changes, index, checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}, look=reports.append
        )
        assert query.awaitTermination(120)

    follow()
    taken = len(reports)
    follow()  # a merge in the background may make a version meanwhile
    assert taken
    assert not any(one.inserted or one.updated or one.deleted or one.rescored for one in reports[taken:])
    files.add(records[3])
    follow()

    for step in records:
        oracle.take(step, lambda text: text != "n =")
    subscriptions = [{"id": i, "where": where, "score": score} for i, (where, score) in oracle.subscriptions.items()]
    frame = spark.createDataFrame([(e["key"], e["n"]) for e in EVENTS], "key bigint, n double")
    matched = tocsin_spark.match(frame, index, attributes=["n"]).collect()
    assert matches(matched) == expected(subscriptions, EVENTS)
    rejects = spark.read.parquet(str(index / "rejects")).collect()
    assert [(row["id"], row["field"]) for row in rejects] == [("bad", "where")]


def test_small_parts_are_merged(spark: Any, tmp_path: Path) -> None:
    """Many updates leave few parts, and the same answers."""
    index, oracle = tmp_path / "index", Changing()
    for number in range(8):
        put(spark, index, oracle, [(f"s{number}", "insert", 1, f"n = {number}", None)])
    assert len(IndexFolder.read(index).parts) == 8

    assert tocsin_spark.merge(spark, index) == 1

    assert len(IndexFolder.read(index).parts) == 1
    frame = spark.createDataFrame([(3, 3.0)], "key bigint, n double")
    assert matches(tocsin_spark.match(frame, index, attributes=["n"]).collect()) == {3: [("s3", 1.0)]}
    report = tocsin_spark.update(spark.createDataFrame([], CHANGE_SCHEMA), index)
    assert (report.version, report.merge_due) == (IndexFolder.read(index).version, False)


def test_events_may_be_json_in_one_column(spark: Any, compiled: Any) -> None:
    """As JSON lines are read; what is no object is an event that was refused, with its reason."""
    folder, _ = compiled(SUBSCRIPTIONS, partitions=2)
    texts = [
        json.dumps({k: v for k, v in event.items() if k != "key"}, indent=k % 3 or None)
        for k, event in enumerate(EVENTS)
    ]
    odd = [
        '{"n": 1',
        "[1]",
        "",
        None,
        '{"n": 1, "a": {"b": 1}, "a.b": 2}',
        '{"a": [{"b": 1}], "n": 5}',
        '{"s": "a\nb"}',
    ]
    rows = [*enumerate(texts), *((100 + number, text) for number, text in enumerate(odd))]
    frame = spark.createDataFrame(rows, "key bigint, value string")

    found = {row["key"]: row for row in tocsin_spark.match(frame, folder, json="value").collect()}

    assert {key: matches([found[key]])[key] for key in range(60)} == expected(SUBSCRIPTIONS, EVENTS)
    assert [found[100 + number]["matches"] is None for number in range(7)] == [True] * 5 + [False, True]
    assert [match["subscription"] for match in found[105]["matches"]] == ["n3", "n4", "n5"]
    assert "invalid JSON" in found[100]["error"]
    assert found[101]["error"].startswith("a record is a JSON object, not an array")


def test_what_a_reader_could_not_read_is_refused(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """`corrupt` names the column where Spark's reader puts it; no condition holds of such a row."""
    folder, _ = compiled([{"id": "null", "where": "n IS NULL"}, {"id": "one", "where": "n = 1"}])
    (tmp_path / "events.csv").write_text("1,1.0\n2,x\n3,\n")
    reader = spark.read.schema("key bigint, n double, bad string").option("columnNameOfCorruptRecord", "bad")

    found = tocsin_spark.match(
        reader.csv(str(tmp_path / "events.csv")), folder, attributes=["n"], corrupt="bad"
    ).collect()

    assert {row["key"]: row["matches"] and row["matches"][0]["subscription"] for row in found} == {
        1: "one",
        2: None,
        3: "null",
    }
    assert [row["error"] for row in found if row["key"] == 2] == ["the record cannot be read: 2,x"]


def test_work_is_observed(spark: Any, compiled: Any) -> None:
    """In both forms: how many events, matches, refused ones, candidates, and the version."""
    from pyspark.sql import Observation

    folder, _ = compiled(SUBSCRIPTIONS[:20])
    frame = spark.createDataFrame(
        [(e["key"], json.dumps({"n": e["n"]})) for e in EVENTS] + [(99, "no")], "key long, value string"
    )
    counts = []
    for more in ({}, {"explode": True, "event_id": "key"}):
        seen = Observation()
        rows = tocsin_spark.match(frame, folder, json="value", observe=seen, **more).collect()
        counts.append({**seen.get, "rows": len(rows)})

    total = sum(map(len, expected(SUBSCRIPTIONS[:20], [{"key": e["key"], "n": e["n"]} for e in EVENTS]).values()))
    for found, count in zip(counts, (61, total), strict=True):
        assert found["rows"] == count
        assert (found["events"], found["matches"], found["rejected"]) == (61, total, 1)
        assert found["index_version"] == IndexFolder.read(folder).version
        assert found["candidates"] >= total
