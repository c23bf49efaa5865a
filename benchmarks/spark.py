"""Spark: the flights from Parquet to Parquet.

Times are wall time. Two Spark workers are compared with two threads of `tocsin match`, on the same files and the same
compiled index.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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

JOBS = "benchmarks.spark_jobs"
ROW_GROUP = 20_000
_ALERTS = (20_000, 200_000)
_ROUNDS = 3


def rows(subscriptions: int) -> Iterator[Row]:
    """Measure with at most this many subscriptions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(flight_events(), folder / "events.parquet", row_group_size=ROW_GROUP)
        pq.write_table(flight_events().slice(0, 0), folder / "nothing.parquet")
        for count in dict.fromkeys(min(count, subscriptions) for count in _ALERTS):
            yield from _batch(folder, count)


@cache
def flight_events() -> pa.Table:
    """All flights, numbered."""
    table = flights().select(ATTRIBUTES)
    return table.append_column(ID, pa.array(np.arange(len(table))))


def _batch(folder: Path, count: int) -> Iterator[Row]:
    """Parquet to Parquet on one core and two, and with the command line."""
    load, index = f"{count // 1000}k", folder / f"index-{count}"
    pq.write_table(pa.Table.from_pylist(list(alerts(count))), folder / "alerts.parquet")
    compile_index(folder / "alerts.parquet", index)
    (command, busy), (start, idle) = (_command(index, folder / name) for name in ("events.parquet", "nothing.parquet"))
    given = {"folder": str(folder), "index": str(index)}
    two, one = (job(JOBS, "batch", master=f"local[{cores}]", cores=cores, **given) for cores in (2, 1))
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


def compile_index(subscriptions: Path, index: Path) -> None:
    """Compile one segment with statistics of some flights, like `tocsin compile --sample`."""
    segment, rejects = build_from(str(subscriptions), choose("auto", sample(flight_events().slice(0, 10_000))))
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
