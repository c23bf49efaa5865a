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
