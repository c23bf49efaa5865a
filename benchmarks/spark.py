"""Spark: the flights from Parquet to Parquet, a join in SQL, and the latency from event to sink.

Times are wall time. Two Spark workers are compared with two threads of `tocsin match`, on the same files and the same
compiled index. The join runs on a sample, because it examines every pair. The latency of a stream is measured with as
many subscriptions as requested.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.boolean_workload import UNI
from benchmarks.calibration import wall_seconds
from benchmarks.flights_workload import alerts, flights
from benchmarks.jobs import ROOT, environment, job
from benchmarks.processes import cpu_seconds
from benchmarks.rows import Row
from benchmarks.spark_jobs import BY_SPARK, ID
from tocsin.demo.pipeline import ATTRIBUTES
from tocsin.engine import sample
from tocsin.engine.loading import build_from
from tocsin.index import choose
from tocsin.segment import write_index

_JOBS = "benchmarks.spark_jobs"
_ROW_GROUP = 20_000
_ALERTS = (20_000, 200_000)
_JOINED = 100_000
_SAMPLED = 1_000
_RATE = 1_000
_BATCHES = 240
_ROUNDS = 3

DEFAULTS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
    "spark.python.unix.domain.socket.enabled": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
}
"""Spark's own settings, for comparison with those of `local_session`."""


def rows(subscriptions: int, parts: str = "batch join latency") -> Iterator[Row]:
    """Measure with at most this many subscriptions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(_events(), folder / "events.parquet", row_group_size=_ROW_GROUP)
        pq.write_table(_events().slice(0, 0), folder / "nothing.parquet")
        if "batch" in parts:
            for count in dict.fromkeys(min(count, subscriptions) for count in _ALERTS):
                yield from _batch(folder, count)
        if "join" in parts:
            yield _join(folder, min(_JOINED, subscriptions))
        if "latency" in parts:
            yield from _latency(folder, subscriptions)


@cache
def _events() -> pa.Table:
    """All flights, numbered."""
    table = flights().select(ATTRIBUTES)
    return table.append_column(ID, pa.array(np.arange(len(table))))


def _batch(folder: Path, count: int) -> Iterator[Row]:
    """Parquet to Parquet on one core and two, and with the command line."""
    load, index = f"{count // 1000}k", folder / f"index-{count}"
    pq.write_table(pa.Table.from_pylist(list(alerts(count))), folder / "alerts.parquet")
    _compile(folder / "alerts.parquet", index)
    (command, busy), (start, idle) = (_command(index, folder / name) for name in ("events.parquet", "nothing.parquet"))
    given = {"folder": str(folder), "index": str(index)}
    two, one = (job(_JOBS, "batch", master=f"local[{cores}]", cores=cores, **given) for cores in (2, 1))
    events = two["events"]
    line = events / (command - start)
    cpu = busy - idle
    note = (
        f"whole {command:.1f} s, with no events {start:.1f} s; {cpu:.1f} CPU s without it; {two['matches']:,} matches"
    )
    yield Row("tocsin match", load, "two threads", line, "events/s", note)
    for name in ("match", BY_SPARK, "match_parquet", "match_to_parquet"):
        rate = events / two[name]
        used = two["cpu"][name]
        note = f"{rate / line:.2f} of that; {one[name] / two[name]:.2f} x local[1] on one core; {two[name]:.1f} s"
        note += f"; {used:.1f} CPU s, the command line {cpu / used:.2f} of them"
        yield Row("spark", load, f"{name}, local[2]", rate, "events/s", note)
    for cores, found in (("local[2]", two), ("local[1]", one)):
        taken = {name: seconds for name, seconds in found.items() if name not in ("events", "matches", "cpu")}
        stages = ", ".join(f"{name} {seconds:.1f} ({found['cpu'][name]:.1f} CPU)" for name, seconds in taken.items())
        yield Row("spark", load, f"{cores}, stages", taken["match"], "s", stages)


def _join(folder: Path, count: int) -> Row:
    """The conditions of simple alerts as columns, joined by SQL on a sample."""
    columns, simple = _simple(count)
    pq.write_table(columns, folder / "simple_columns.parquet")
    pq.write_table(simple, folder / "simple.parquet")
    pq.write_table(_events().slice(0, _SAMPLED), folder / "sample.parquet")
    index = folder / "index-simple"
    _compile(folder / "simple.parquet", index)
    found = job(_JOBS, "joined", master="local[2]", folder=str(folder), index=str(index), sampled=_SAMPLED)
    theirs, ours = found["sampled"] / found["sql"], found["events"] / found["match"]
    same = "the same counts" if found["same"] else "OTHER COUNTS"
    note = f"{ours / theirs:,.0f} x a join, {theirs:,.0f} events/s ({found['pairs']:,} matches of {_SAMPLED:,}, {same})"
    return Row("spark", f"{count // 1000}k", "match, all pairs counted", ours, "events/s", note)


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


def _latency(folder: Path, count: int) -> Iterator[Row]:
    """The latency from event to sink, with Spark's own settings and with those of `local_session`."""
    index = folder / "index-uni"
    segment, _ = build_from(UNI.conjunctions(count), choose("auto"))
    write_index(index, segment)
    (folder / "lines.txt").write_text("\n".join(json.dumps(event) for event in UNI.events(4096)), encoding="utf-8")
    given = {"master": "local[2]", "folder": str(folder), "index": str(index), "batches": _BATCHES, "rate": _RATE}
    for of, conf in {"Spark's settings": DEFAULTS, "local_session's": {}}.items():
        found = job(_JOBS, "latency", **given, conf=conf)
        stages = ", ".join(f"{name} {value:.0f}" for name, value in found["stages"].items())
        note = f"99 %: {found['p99']:.0f} ms; {found['batches']} batches, {found['matches']:.0f} matches each; {stages}"
        yield Row("event to sink", f"{found['subscriptions'] // 1000}k", of, found["median"], "ms", note)


def _compile(subscriptions: Path, index: Path) -> None:
    """Compile one segment with statistics of some flights, like `tocsin compile --sample`."""
    segment, rejects = build_from(str(subscriptions), choose("auto", sample(_events().slice(0, 10_000))))
    assert not rejects
    write_index(index, segment)


def _command(index: Path, events: Path) -> tuple[float, float]:
    """The median wall and CPU seconds of `tocsin match`, including start-up."""
    out = index.parent / "cli.parquet"
    command = [sys.executable, "-m", "tocsin", "match", str(index), str(events), "--threads", "2", "--out", str(out)]
    wall, cpu = [], []
    for _ in range(_ROUNDS):
        before = cpu_seconds()
        wall.append(
            wall_seconds(lambda: subprocess.run(command, check=True, cwd=ROOT, env=environment(), capture_output=True))
        )
        cpu.append(cpu_seconds() - before)
    return statistics.median(wall), statistics.median(cpu)
