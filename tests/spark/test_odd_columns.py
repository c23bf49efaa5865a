"""Columns of any name and of every width of strings are attributes on Spark; what is ambiguous is refused at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tocsin
import tocsin.spark as tocsin_spark

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of x, which asks for a dotted name, and y, which asks for a plain one."""
    path = tmp_path_factory.mktemp("odd_columns") / "index"
    frame = spark.createDataFrame([("x", '"a.b" = 1'), ("y", "n = 1")], ["id", "where"])
    tocsin_spark.compile(frame, path, partitions=1)
    return path


@pytest.mark.parametrize("name", ["a.b", "odd `name`", "n"])
def test_explode_takes_columns_of_any_name(spark: Any, folder: Path, name: str) -> None:
    """A column is an attribute under its own name, whatever dots and backticks it has."""
    frame = spark.createDataFrame([(1, 1.0)], ["key", name])

    rows = tocsin_spark.match(frame, folder, explode=True, event_id="key").collect()

    assert len(rows) == (0 if "odd" in name else 1)


@pytest.mark.parametrize("name", ["a.b", "odd `name`", "n"])
def test_columns_of_any_name_are_kept(spark: Any, folder: Path, name: str) -> None:
    """Every input column comes back under its own name, with the matches beside it."""
    frame = spark.createDataFrame([(1, 1.0)], ["key", name])

    matched = tocsin_spark.match(frame, folder)

    assert matched.columns == ["key", name, "matches", "error"]
    [row] = matched.collect()
    assert (row["key"], row[1], row["error"]) == (1, 1.0, None)
    assert [m["subscription"] for m in row["matches"]] == {"a.b": ["x"], "n": ["y"]}.get(name, [])


def test_an_attribute_named_twice_is_one(spark: Any, folder: Path) -> None:
    """A name that `attributes` repeats is taken once."""
    frame = spark.createDataFrame([(1, 1.0)], ["key", "n"])

    [row] = tocsin_spark.match(frame, folder, attributes=["n", "n"]).collect()

    assert row["error"] is None


def test_two_columns_of_one_name_are_refused(spark: Any, folder: Path) -> None:
    """Events whose columns share a name are refused before any task runs."""
    frame = spark.createDataFrame([(1.0, 1.0)], ["n", "n"])

    with pytest.raises(tocsin.InvalidInput):
        tocsin_spark.match(frame, folder)


def test_large_var_types_change_nothing(spark: Any, folder: Path) -> None:
    """Maps give the same attributes when Spark hands strings over with 64-bit offsets."""
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        frame = spark.createDataFrame([({"b": 1.0},)], "a map<string, double>")
        [row] = tocsin_spark.match(frame, folder).collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")

    assert [match["subscription"] for match in row["matches"]] == ["x"]


def test_what_is_no_ranking_is_refused_before_any_task(spark: Any, folder: Path) -> None:
    """A ranking is checked when `match` is called."""
    frame = spark.createDataFrame([(1.0,)], ["n"])

    with pytest.raises(tocsin.InvalidInput):
        tocsin_spark.match(frame, folder, ranking=5)  # type: ignore[arg-type]


WKB = "X'0101000000000000000000F03F000000000000F03F'"


@pytest.mark.parametrize(
    ("value", "holds", "error"),
    [
        (f"st_geomfromwkb({WKB})", ["S_INTERSECTS(v, BBOX(0, 0, 5, 5))", "v IS NOT NULL"], None),
        (f"st_geogfromwkb({WKB})", ["S_INTERSECTS(v, BBOX(0, 0, 5, 5))", "v IS NOT NULL"], None),
        ("st_geomfromwkb(cast(null as binary))", ["v IS NULL"], None),
        ("parse_json('1')", ["v IS NOT NULL"], "v: values of the type VARIANT have no type here; give variant_get"),
        ("interval '1' month", ["v IS NOT NULL"], "v: values of the type interval month have no type here"),
        ("make_interval(1, 2)", ["v IS NOT NULL"], "v: values of the type interval have no type here"),
        ("cast(null as interval month)", ["v IS NULL"], None),
        ("interval '1' day", ["v IS NOT NULL"], "v: a timedelta is not a value"),
        ("named_struct('i', interval '1' month)", ["v IS NOT NULL"], None),
    ],
)
def test_rare_types_are_places_or_told(
    spark: Any, tmp_path: Path, value: str, holds: list[str], error: str | None
) -> None:
    """A value of any type is there, ends no query, and comes back as it was given."""
    asked = ["S_INTERSECTS(v, BBOX(0, 0, 5, 5))", "v IS NULL", "v IS NOT NULL", "k = 1"]
    tocsin_spark.compile(spark.createDataFrame([(a, a) for a in asked], ["id", "where"]), tmp_path / "i", partitions=1)
    given = spark.sql(f"SELECT 1 AS k, {value} AS v")

    found = tocsin_spark.match(given, tmp_path / "i")

    assert found.dtypes[:2] == given.dtypes
    [row] = found.drop("v").collect()
    assert sorted(match.subscription for match in row.matches) == sorted([*holds, "k = 1"])
    assert row.error == error if error is None else row.error.startswith(error)
    assert found.where("v IS NULL").count() == given.where("v IS NULL").count()


@pytest.mark.parametrize("routing", ["local", "shuffle"])
def test_rows_without_columns_are_events(spark: Any, tmp_path: Path, routing: str) -> None:
    """They lack every attribute."""
    tocsin_spark.compile(spark.createDataFrame([("x", "n IS NULL")], ["id", "where"]), tmp_path / "i", partitions=1)

    found = tocsin_spark.match(spark.range(3).select(), tmp_path / "i", routing=routing)

    assert found.columns == ["matches", "error"]
    assert [row.matches[0].subscription for row in found.collect()] == ["x"] * 3
