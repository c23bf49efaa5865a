"""What the tests of Spark share: subscriptions as a compiled index, and matched rows in plain form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tocsin.spark as tocsin_spark

Compile = Callable[..., tuple[Path, tocsin_spark.CompileReport]]


@pytest.fixture
def compiled(spark: Any, tmp_path: Path) -> Compile:
    """Compile records of subscriptions: `compiled(records, partitions=2)` gives the folder and the report."""

    def compile_records(records: list[dict[str, Any]], partitions: int = 2) -> tuple[Path, tocsin_spark.CompileReport]:
        kind = "bigint" if records and isinstance(records[0]["id"], int) else "string"
        rows = [(r.get("id"), r.get("where"), r.get("score"), r.get("weights")) for r in records]
        frame = spark.createDataFrame(rows, f"id {kind}, where string, score double, weights map<string, double>")
        folder = tmp_path / "index"
        return folder, tocsin_spark.compile(frame, folder, partitions=partitions)

    return compile_records


@pytest.fixture
def found() -> Callable[[Any, str], dict[Any, Any]]:
    """The matches of each row as (subscription, score) pairs, None where they are null, by a column of the events."""

    def by_key(matched: Any, key: str = "key") -> dict[Any, Any]:
        return {
            row[key]: None if row["matches"] is None else [tuple(match) for match in row["matches"]]
            for row in matched.collect()
        }

    return by_key
