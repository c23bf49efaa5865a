"""Measurements of one Spark session each, run in a process of their own.

    python -m benchmarks.spark_jobs batch '{"master": "local[2]", "folder": ..., "index": ...}'

Prints one line of JSON. `spark.py` starts them.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.calibration import wall_seconds
from benchmarks.processes import cpu_seconds
from tocsin import spark
from tocsin.demo.pipeline import ATTRIBUTES
from tocsin.segment import IndexFolder
from tocsin.spark import local_session

ID: Final = "id"
_ROUNDS: Final = 3
_PATIENCE_S: Final = 300.0
_OPEN_COST: Final = "spark.sql.files.openCostInBytes"
BY_SPARK: Final = "match, files divided by Spark's setting"
SQL: Final = " AND ".join(
    [
        *(f"(a.{name} IS NULL OR a.{name} = e.{name})" for name in ("origin", "dest", "carrier")),
        *(f"(a.least_{name} IS NULL OR e.{name} >= a.least_{name})" for name in ("dep_delay", "arr_delay")),
        *(f"(a.most_{name} IS NULL OR e.{name} <= a.most_{name})" for name in ("dep_delay", "arr_delay")),
    ]
)
"""The query that a user would write: conditions as columns of the alerts, NULL for any."""


def batch(master: str, folder: str, index: str, cores: int) -> dict[str, Any]:
    """Parquet to Parquet, and its stages, on a number of cores; medians of rounds that take turns."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])  # Java runs beside its workers, on the same cores
    session = local_session(master)
    path, out = f"{folder}/events.parquet", tempfile.mkdtemp(dir=folder)
    events = session.read.parquet(path)
    wanted = events.select(ID, *ATTRIBUTES)
    options: dict[str, Any] = {"attributes": ATTRIBUTES, "explode": True, "event_id": ID}

    matched = spark.match(events, index, **options)
    stages = {
        "read": _nowhere(wanted),
        "through Python": _nowhere(wanted.mapInArrow(_same, wanted.schema)),
        "match, not written": _nowhere(matched),
        "match_parquet, not written": _nowhere(spark.match_parquet(session, path, index, **options)),
    }
    whole = {
        "match": _written(matched, f"{out}/matches"),
        BY_SPARK: _by_spark(session, _written(matched, f"{out}/matches")),
        "match_parquet": _written(spark.match_parquet(session, path, index, **options), f"{out}/matches"),
        "match_to_parquet": lambda: spark.match_to_parquet(
            session, path, index, f"{out}/own", overwrite=True, **options
        ),
    }
    spark.warm(session, index)
    cpu: dict[str, float] = {}
    taken = _in_turns(whole, _ROUNDS, cpu)
    stages["Java alone"] = _written(session.read.parquet(f"{out}/matches"), f"{out}/again")
    taken |= _in_turns(stages, 1, cpu)
    rows, own = (session.read.parquet(f"{out}/{name}").count() for name in ("matches", "own"))
    assert rows == own, f"{rows} matches through Java, {own} without it"
    return {**taken, "matches": rows, "events": events.count(), "cpu": cpu}


def _written(rows: Any, place: str) -> Callable[[], None]:
    return lambda: rows.write.mode("overwrite").parquet(place)


def _nowhere(rows: Any) -> Callable[[], None]:
    return lambda: rows.write.format("noop").mode("overwrite").save()


def _by_spark(session: Any, work: Callable[[], None]) -> Callable[[], None]:
    """The same work with files divided among the cores by Spark's own setting."""

    def run() -> None:
        own = session.conf.get(_OPEN_COST)
        session.conf.set(_OPEN_COST, "4MB")
        try:
            work()
        finally:
            session.conf.set(_OPEN_COST, own)

    return run


def _same(batches: Any) -> Iterator[pa.RecordBatch]:
    yield from batches


def _in_turns(
    works: dict[str, Callable[[], None]], rounds: int = _ROUNDS, cpu: dict[str, float] | None = None
) -> dict[str, float]:
    """The median wall seconds of each, after a first run; `cpu` receives those of all processes, including Java."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    used: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            before = cpu_seconds()
            seconds = wall_seconds(work)
            if turn:
                taken[name].append(seconds)
                used[name].append(cpu_seconds() - before)
    if cpu is not None:
        cpu |= {name: statistics.median(seconds) for name, seconds in used.items()}
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def joined(master: str, folder: str, index: str, sampled: int) -> dict[str, Any]:
    """The time of an SQL join that counts all pairs of some events, and of `spark.match` on all events.

    Also whether both give the same counts for each alert on some events.
    """
    session = local_session(master)
    session.read.parquet(f"{folder}/simple_columns.parquet").createOrReplaceTempView("alerts")
    session.read.parquet(f"{folder}/sample.parquet").createOrReplaceTempView("events")
    by_sql = f"SELECT a.id, count(*) AS n FROM events e JOIN alerts a ON {SQL} GROUP BY a.id"
    pairs = f"SELECT count(*) AS n FROM events e JOIN alerts a ON {SQL}"
    taken = {"sql": statistics.median(wall_seconds(lambda: session.sql(pairs).toArrow()) for _ in range(_ROUNDS))}
    theirs = _counts(session.sql(by_sql))
    options: dict[str, Any] = {"attributes": ATTRIBUTES, "explode": True, "event_id": ID}
    sample = spark.match(session.read.parquet(f"{folder}/sample.parquet"), index, **options)
    ours = _counts(sample.groupBy(sample.subscription.alias("id")).count())
    events = session.read.parquet(f"{folder}/events.parquet")

    def counted() -> None:  # a new DataFrame each time, because a used one keeps its shuffled data
        spark.match(events, index, attributes=ATTRIBUTES).selectExpr("sum(size(matches)) AS n").toArrow()

    spark.warm(session, index)
    taken["match"] = _in_turns({"match": counted})["match"]
    return {**taken, "sampled": sampled, "events": events.count(), "same": ours == theirs, "pairs": sum(ours.values())}


def _counts(rows: Any) -> dict[str, int]:
    return dict(zip(*(rows.toArrow().column(at).to_pylist() for at in range(2)), strict=True))


def latency(master: str, folder: str, index: str, batches: int, rate: int, conf: dict[str, str]) -> dict[str, Any]:
    """The latency from the creation of an event to its matches in the sink."""
    from benchmarks.stamped_source import Stamped

    session = local_session(master, **conf)
    session.dataSource.register(Stamped)
    spark.warm(session, index)
    stamped = session.readStream.format("stamped").option("rate", rate).option("lines", f"{folder}/lines.txt")
    matched = spark.match(stamped.load(), index, json="value").select("born", "matches")
    with tempfile.TemporaryDirectory(dir=folder) as checkpoint:
        found = _streamed(matched, checkpoint, batches)
    return {"subscriptions": IndexFolder.read(Path(index)).subscriptions, **found}


def _streamed(matched: Any, checkpoint: str, batches: int) -> dict[str, Any]:
    """Run a query for some micro-batches and measure the second half; in the first half, Java compiles its code."""
    late: list[np.ndarray[Any, Any]] = []
    matches = [0]

    def sink(rows: Any, _: int) -> None:
        table = rows.selectExpr("born", "size(matches) AS n").toArrow()
        late.append(time.time() - table["born"].to_numpy())
        matches[0] += sum(table["n"].to_pylist())

    query = matched.writeStream.foreachBatch(sink).option("checkpointLocation", checkpoint).start()
    until = time.monotonic() + _PATIENCE_S
    while len(late) < batches and query.isActive and time.monotonic() < until:
        time.sleep(0.1)
    progress = [one for one in query.recentProgress if one.numInputRows]
    query.stop()
    latencies = np.concatenate(late[len(late) // 2 :]) * 1000
    stages = {
        name: statistics.median(one.durationMs.get(name, 0) for one in progress[len(progress) // 2 :])
        for name in ("triggerExecution", "latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets")
    }
    return {
        "median": float(np.median(latencies)),
        "p99": float(np.percentile(latencies, 99)),
        "batches": len(late),
        "matches": matches[0] / sum(map(len, late)),
        "stages": stages,
    }


JOBS: Final = {"batch": batch, "joined": joined, "latency": latency}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
