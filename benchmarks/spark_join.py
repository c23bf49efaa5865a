"""Spark: the flights against simple alerts, and a join in SQL of the conditions as columns.

The join runs on a sample, because it examines every pair.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.flights_workload import flights
from benchmarks.jobs import job
from benchmarks.rows import Row
from benchmarks.spark import JOBS, ROW_GROUP, compile_index, flight_events
from benchmarks.spark_jobs import ID

_SAMPLED = 1_000


def rows(subscriptions: int) -> Iterator[Row]:
    """The events a second of `spark.match`, and how many times as fast it is as the join."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns, simple = _simple(subscriptions)
        pq.write_table(flight_events(), folder / "events.parquet", row_group_size=ROW_GROUP)
        pq.write_table(columns, folder / "simple_columns.parquet")
        pq.write_table(simple, folder / "simple.parquet")
        pq.write_table(flight_events().slice(0, _SAMPLED), folder / "sample.parquet")
        index = folder / "index-simple"
        compile_index(folder / "simple.parquet", index)
        found = job(JOBS, "joined", master="local[2]", folder=str(folder), index=str(index), sampled=_SAMPLED)
        theirs, ours = found["sampled"] / found["sql"], found["events"] / found["match"]
        same = "the same counts" if found["same"] else "OTHER COUNTS"
        note = f"{ours / theirs:,.0f} x a join, {theirs:,.0f} events/s; "
        note += f"{found['pairs']:,} matches of {_SAMPLED:,}, {same}"
        yield Row("spark", f"{subscriptions // 1000}k", "match, all pairs counted", ours, "events/s", note)


def _simple(count: int) -> tuple[pa.Table, pa.Table]:
    """Alerts with a minimum delay and some with a route, carrier or maximum, as columns and as texts."""
    random, table = np.random.default_rng(7), flights()
    drawn = table.take(pa.array(random.integers(0, len(table), count)))
    columns: dict[str, Any] = {ID: [f"s{number}" for number in range(count)]}
    for name, share in (("origin", 0.97), ("dest", 0.99), ("carrier", 0.95)):
        columns[name] = _some(random, drawn[name].to_pylist(), share)
    by_arrival = random.random(count) < 0.7
    for name, is_bound in (("dep_delay", ~by_arrival), ("arr_delay", by_arrival)):
        least = np.round(random.exponential(20, count)) + 15
        columns[f"least_{name}"] = np.where(is_bound, least, None).tolist()
        columns[f"most_{name}"] = _some(random, (least + 60).tolist(), 0.1)
    texts = [_text(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    return pa.table(columns), pa.table({"id": columns[ID], "where": texts})


def _some(random: np.random.Generator, values: list[Any], share: float) -> list[Any]:
    return [value if kept else None for value, kept in zip(values, random.random(len(values)) < share, strict=True)]


def _text(row: dict[str, Any]) -> str:
    """An alert's columns as CQL2 text."""
    equal = [f"{name} = '{row[name]}'" for name in ("origin", "dest", "carrier") if row[name] is not None]
    least = [f"{name[6:]} >= {row[name]:g}" for name in row if name.startswith("least_") and row[name] is not None]
    most = [f"{name[5:]} <= {row[name]:g}" for name in row if name.startswith("most_") and row[name] is not None]
    return " AND ".join([*equal, *least, *most])
