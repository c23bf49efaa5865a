"""Bad subscriptions, bad events and bad arguments on Spark: reported, and the rest is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

import tocsin
import tocsin.spark as tocsin_spark

pytestmark = pytest.mark.spark


def rejects_of(report: tocsin_spark.CompileReport) -> list[tuple[Any, ...]]:
    table = ds.dataset(report.rejects, format="parquet").to_table()
    assert table.column_names == ["id", "field", "reason"]
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def test_bad_subscriptions_are_written_to_the_rejects(spark: Any, compiled: Any, found: Any) -> None:
    """Each one is a row of Parquet with its id, field and reason; the good ones answer."""
    records = [
        {"id": "good", "where": "n = 1", "weights": {"n": 2.0}},
        {"id": "syntax", "where": "n = = 1"},
        {"id": "function", "where": "FOO(n)"},
        {"id": "empty", "where": None},
        {"id": None, "where": "n = 1"},
        {"id": "score", "where": "n = 1", "score": float("inf")},
        {"id": "nan", "where": "n = 1", "score": float("nan")},
        {"id": "weight", "where": "n = 1", "weights": {"n": -1.0}},
        {"id": "deep", "where": "(" * 5000},
    ]

    folder, report = compiled(records, partitions=3)

    assert (report.accepted, report.rejected) == (1, 8)
    rejects = rejects_of(report)
    assert sorted((str(name), field) for name, field, _ in rejects) == [
        ("None", "id"),
        ("deep", "where"),
        ("empty", "where"),
        ("function", "where"),
        ("nan", "score"),
        ("score", "score"),
        ("syntax", "where"),
        ("weight", "weights"),
    ]
    assert all(reason for _, _, reason in rejects)
    frame = spark.createDataFrame([(0, 1.0)], "key int, n double")
    assert found(tocsin_spark.match(frame, folder), "key") == {0: [("good", 1.0)]}
    assert spark.read.parquet(report.rejects).count() == 8


def test_of_doubles_the_same_one_is_kept_whatever_the_order(spark: Any, tmp_path: Path) -> None:
    """The text that sorts first wins, for any order of rows, any partitioning and any number of segments."""
    rows = [("a", f"n = {number}") for number in (3, 1, 2)] + [("b", "n = 1"), ("b", "n = 1")]
    event = spark.createDataFrame([(1.0,)], "n double")

    for number, order in enumerate((rows, rows[::-1], rows[2:] + rows[:2])):
        frame = spark.createDataFrame(order, "id string, where string").repartition(number + 1)
        report = tocsin_spark.compile(frame, tmp_path / str(number), partitions=2 * number + 1)

        assert (report.accepted, report.rejected) == (2, 3)
        assert sorted((name, field) for name, field, _ in rejects_of(report)) == [("a", "id"), ("a", "id"), ("b", "id")]
        [row] = tocsin_spark.match(event, tmp_path / str(number)).collect()
        assert [m["subscription"] for m in row["matches"]] == ["a", "b"]


def test_all_subscriptions_bad_is_an_index_of_nothing(spark: Any, compiled: Any, found: Any) -> None:
    """The report says so, and matching works."""
    folder, report = compiled([{"id": "x", "where": "n ="}])

    assert (report.accepted, report.rejected) == (0, 1)
    frame = spark.createDataFrame([(0, 1.0)], "key int, n double")
    assert found(tocsin_spark.match(frame, folder), "key") == {0: []}


def test_odd_values_are_reported_in_their_row(spark: Any, compiled: Any) -> None:
    """Infinity and 2**60 are present and of no type; `error` names them, and the rest of the row is served."""
    subscriptions = [
        {"id": "n", "where": "n = 1"},
        {"id": "i", "where": "i = 1"},
        {"id": "not null", "where": "n IS NOT NULL AND i IS NOT NULL"},
    ]
    folder, _ = compiled(subscriptions)
    values = [(0, 1.0, 1), (1, float("inf"), 1), (2, 1.0, 2**60), (3, float("-inf"), -(2**53) - 1), (4, None, None)]
    frame = spark.createDataFrame(values, "key int, n double, i bigint").coalesce(1)

    rows = {row["key"]: row for row in tocsin_spark.match(frame, folder).collect()}

    matches = {key: [m["subscription"] for m in row["matches"]] for key, row in rows.items()}
    assert matches == {0: ["i", "n", "not null"], 1: ["i", "not null"], 2: ["n", "not null"], 3: ["not null"], 4: []}
    assert [rows[key]["error"] is None for key in range(5)] == [True, False, False, False, True]
    assert "n: infinity" in rows[1]["error"]
    assert "i: integer 1152921504606846976" in rows[2]["error"]
    assert "n: " in rows[3]["error"]
    assert "i: " in rows[3]["error"]


def test_an_attribute_given_twice_spoils_only_its_row(spark: Any, compiled: Any) -> None:
    """Where a dotted column and a struct both give `a.b`, matches is null and error says why."""
    folder, _ = compiled([{"id": "x", "where": "a.b = 1"}, {"id": "0", "where": "z IS NULL"}])
    values = [(0, 1.0, (1.0,)), (1, 1.0, None), (2, None, (1.0,)), (3, None, (None,))]
    frame = spark.createDataFrame(values, "key int, `a.b` double, a struct<b: double>").coalesce(1)

    rows = {row["key"]: row for row in tocsin_spark.match(frame, folder).collect()}

    assert rows[0]["matches"] is None
    assert rows[0]["error"].startswith("a.b: the attribute comes twice")
    assert [[m["subscription"] for m in rows[key]["matches"]] for key in (1, 2, 3)] == [["0", "x"], ["0", "x"], ["0"]]
    assert all(rows[key]["error"] is None for key in (1, 2, 3))


def test_bad_rows_are_left_out_when_exploded(spark: Any, compiled: Any) -> None:
    """A rejected event has no rows in that form, a field of no type simply does not match."""
    folder, _ = compiled([{"id": "x", "where": "m.k = 1"}, {"id": "y", "where": "n = 1"}])
    values = [(0, {"k": 1.0}, 1.0), (1, {"k": float("inf")}, 1.0), (2, None, float("inf"))]
    frame = spark.createDataFrame(values, "key int, m map<string, double>, n double")

    exploded = tocsin_spark.match(frame, folder, explode=True, event_id="key")

    assert sorted((row["event_id"], row["subscription"]) for row in exploded.collect()) == [
        (0, "x"),
        (0, "y"),
        (1, "y"),
    ]


@pytest.mark.parametrize("lacking", ["id", "where"])
def test_subscriptions_without_their_columns_are_refused(spark: Any, lacking: str, tmp_path: Path) -> None:
    """Before any task runs, naming the column and what there is; nothing becomes current."""
    frame = spark.createDataFrame([("a", "n = 1")], ["id", "where"]).withColumnRenamed(lacking, "other")

    with pytest.raises(tocsin.InvalidInput, match=f"{lacking}.*the columns are .*other"):
        tocsin_spark.compile(frame, tmp_path / "index")
    with pytest.raises(tocsin.SegmentError, match="there is no folder"):
        tocsin_spark.match(frame, tmp_path / "index")


@pytest.mark.parametrize("kind", ["double", "boolean", "array<string>", "decimal(20, 0)", "timestamp"])
def test_ids_of_another_type_are_refused(spark: Any, kind: str, tmp_path: Path) -> None:
    """The message names the type and what is allowed."""
    frame = spark.createDataFrame([], f"id {kind}, where string")

    with pytest.raises(tocsin.InvalidInput, match="ids are strings or integers"):
        tocsin_spark.compile(frame, tmp_path / "index")


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint"])
def test_ids_of_any_integer_type_become_64_bits(spark: Any, kind: str, tmp_path: Path) -> None:
    """The result has bigint ids whatever the width that came."""
    frame = spark.createDataFrame([(7, "n = 1"), (-7, "n = 1")], f"id {kind}, where string")
    tocsin_spark.compile(frame, tmp_path / "index", partitions=2)

    [row] = tocsin_spark.match(spark.createDataFrame([(1.0,)], "n double"), tmp_path / "index").collect()

    assert [m["subscription"] for m in row["matches"]] == [-7, 7]


def test_arguments_that_do_not_fit_are_refused(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """Each refusal names what came and what there is, before any task runs."""
    folder, _ = compiled([{"id": "x", "where": "n = 1"}])
    frame = spark.createDataFrame([(0, 1.0)], "key int, n double")
    taken = frame.withColumn("matches", frame["n"])
    refused = [
        (lambda: tocsin_spark.match(frame, folder, attributes=["m"]), r"'m'.*\['key', 'n'\]"),
        (lambda: tocsin_spark.match(frame, folder, explode=True), "needs event_id"),
        (lambda: tocsin_spark.match(frame, folder, explode=True, event_id="q"), "'q'"),
        (lambda: tocsin_spark.match(frame, folder, event_id="key"), "explode=True"),
        (lambda: tocsin_spark.match(taken, folder), "'matches' already"),
        (lambda: tocsin_spark.compile(frame, tmp_path / "x", partitions=0), "partitions is 0"),
        (lambda: tocsin_spark.compile(frame, tmp_path / "x", index="nope"), "'nope'"),
    ]

    for call, message in refused:
        with pytest.raises(tocsin.InvalidInput, match=message):
            call()
    with pytest.raises(tocsin.SegmentError, match="there is no folder"):
        tocsin_spark.match(frame, tmp_path / "nowhere")


def test_a_schema_reads_texts_as_what_it_says(spark: Any, compiled: Any, found: Any, tmp_path: Path) -> None:
    """Of rows, of Parquet files and of JSON; what cannot be read so is told, and the rest of the event is served."""
    area = "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))"
    records = [
        {"id": "in", "where": f"S_INTERSECTS(place, {area})"},
        {"id": "late", "where": "at > TIMESTAMP('2024-01-01T00:00:00Z')"},
        {"id": "many", "where": "n >= 10"},
        {"id": "red", "where": "TEXT(t, 'red shoes')"},
    ]
    folder, _ = compiled(records, partitions=2)
    rows = [
        (0, "POINT(1 1)", "2024-05-01", "9", "Red shoes!"),
        (1, "LINESTRING(1 1, 5 5)", "2023-05-01", "10", "shoes"),
        (2, "POINT(1)", "late", "ten", "red, shoes"),
    ]
    frame = spark.createDataFrame(rows, "key int, place string, at string, n string, t string")
    schema = {"place": "geometry", "at": "instant", "n": "number", "t": "text"}
    expected = {0: ["in", "late", "red"], 1: ["in", "many"], 2: ["red"]}

    frame.write.parquet(str(tmp_path / "events"))
    as_json = frame.selectExpr("key", "to_json(struct(place, at, n, t)) AS value")
    of_json = tocsin_spark.match(as_json, folder, json="value", schema=schema)
    of_files = tocsin_spark.match_parquet(spark, tmp_path / "events", folder, schema=schema)
    tocsin_spark.match_to_parquet(spark, tmp_path / "events", folder, tmp_path / "out", schema=schema)
    written = spark.read.parquet(str(tmp_path / "out"))
    for answered in (tocsin_spark.match(frame, folder, schema=schema), of_json, of_files, written):
        assert {key: [id for id, _ in own] for key, own in found(answered, "key").items()} == expected
        errors = {row["key"]: row["error"] for row in answered.collect()}
        assert errors[0] is None and errors[1] is None
        assert all(name in errors[2] for name in ("place", "at", "n"))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"n": "int"}, "the types are number"),
        ({"m": "number"}, "schema names 'm', which is not an attribute"),
        ({"n": "text german stem"}, r"TEXT\(n, 'words', 'german stem'\)"),
    ],
)
def test_a_schema_that_cannot_be(spark: Any, compiled: Any, schema: Any, message: str) -> None:
    folder, _ = compiled([{"id": "a", "where": "n = 1"}], partitions=1)
    with pytest.raises(tocsin.InvalidInput, match=message):
        tocsin_spark.match(spark.createDataFrame([("1",)], "n string"), folder, schema=schema)
