"""Measurements of one Spark session each, run in a process of their own.

    python -m reproduce.cluster.jobs compiled '{"cores": 2, "folder": ..., "subscriptions": 1000000, ...}'

Prints one line of JSON; `running` starts them. Times are wall and CPU time of all processes of the session.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.spark_jobs import cpu_seconds

from tocsin import spark
from tocsin.segment import IndexFolder
from tocsin.segment.outlines import bytes_of

_ROUNDS = 2
_EXECUTOR_MB = 2048
_LOOK_S = 0.2
_TASKS = 64
_PARTS = 8
TASK_BYTES = 400_000
"""The bytes of an events file that a task reads, so that each core gets several tasks."""


def session_of(cores: int, executors: bool = False) -> Any:
    """A session whose workers and Java share a number of cores, like a machine of that size.

    With `executors`, as many executors with one core each, as Java processes in addition to the driver's.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    settings = {"spark.sql.shuffle.partitions": 4, "spark.sql.files.maxPartitionBytes": TASK_BYTES}
    master = f"local-cluster[{cores},1,{_EXECUTOR_MB}]" if executors else f"local[{cores}]"
    return spark.local_session(master, **settings, **{"spark.executor.memory": f"{_EXECUTOR_MB}m"})


def compiled(
    cores: int, folder: str, index: str, subscriptions: int, partitions: int, placement: str, executors: bool = False
) -> dict[str, Any]:
    """Compile subscriptions from Parquet."""
    session = session_of(cores, executors)
    frame = session.read.parquet(f"{folder}/subscriptions-{subscriptions}.parquet")
    known = spark.statistics(session.read.parquet(f"{folder}/events.parquet"))
    timed = _timed(lambda: spark.compile(frame, index, partitions=partitions, placement=placement, statistics=known))
    held = IndexFolder.read(index)
    return {**timed, "bytes": bytes_of(held), "parts": len(held.parts), "copies": held.copies}


def matched(cores: int, folder: str, index: str, routing: str, executors: bool = False) -> dict[str, Any]:
    """Match the events and discard the matches; the faster of the rounds after a first one."""
    session = session_of(cores, executors)
    events = session.read.parquet(f"{folder}/events.parquet")
    spark.warm(session, index)
    rows = spark.match(events, index, routing=routing)
    return _best_of(lambda: rows.write.format("noop").mode("overwrite").save())


def rows_alone(cores: int, folder: str, matches: int = 0) -> dict[str, Any]:
    """Send the events through Python and back with `matches` made-up matches each; and run tasks that do nothing."""
    from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

    session = session_of(cores)
    events = session.read.parquet(f"{folder}/events.parquet")
    match = StructType([StructField("subscription", LongType()), StructField("score", DoubleType())])
    schema = StructType([*events.schema.fields, StructField("matches", ArrayType(match))])
    passed = events.mapInArrow(_with_matches(matches), schema)
    empty = session.range(0, _TASKS, 1, _TASKS).mapInArrow(_same, "id bigint")
    whole = _best_of(lambda: passed.write.format("noop").mode("overwrite").save())
    tasks = _best_of(lambda: empty.write.format("noop").mode("overwrite").save())
    return {**whole, "task": tasks["cpu"] / _TASKS, "tasks": tasks["seconds"]}


def rows_sent(cores: int, folder: str, copies: int, padding: int) -> dict[str, Any]:
    """Shuffle copies of the events by a number, each with extra bytes."""
    session = session_of(cores)
    events = session.read.parquet(f"{folder}/events.parquet")
    sent = events.mapInArrow(_copied(copies, padding), _sent_schema(events.schema)).repartitionById(_PARTS, "part")
    passed = sent.mapInArrow(_same, sent.schema)
    return _best_of(lambda: passed.write.format("noop").mode("overwrite").save())


def _same(batches: Any) -> Iterator[pa.RecordBatch]:
    yield from batches


def _with_matches(matches: int) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    def run(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            count = batch.num_rows * matches
            names = ["subscription", "score"]
            found = pa.StructArray.from_arrays([pa.array(np.arange(count)), pa.array(np.ones(count))], names=names)
            starts = pa.array(np.arange(batch.num_rows + 1, dtype=np.int32) * matches)
            yield batch.append_column("matches", pa.ListArray.from_arrays(starts, found))

    return run


def _copied(copies: int, padding: int) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    def run(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.take(pa.array(np.repeat(np.arange(batch.num_rows), copies)))
            rows = rows.append_column("padding", pa.array([bytes(padding)] * rows.num_rows, pa.binary()))
            yield rows.append_column("part", pa.array(np.arange(rows.num_rows) % _PARTS, pa.int32()))

    return run


def _sent_schema(events: Any) -> Any:
    from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

    return StructType([*events.fields, StructField("padding", BinaryType()), StructField("part", IntegerType())])


def _best_of(work: Callable[[], Any]) -> dict[str, float]:
    taken = [_timed(work) for _ in range(_ROUNDS + 1)][1:]
    return min(taken, key=lambda one: one["cpu"])


def _timed(work: Callable[[], Any]) -> dict[str, float]:
    cpu, begin = cpu_seconds(), time.perf_counter()
    with _watched() as least:
        before = available()
        work()
    taken = {"seconds": time.perf_counter() - begin, "cpu": cpu_seconds() - cpu}
    return {**taken, "memory": max(before - min(least), 0)}


@contextmanager
def _watched() -> Iterator[list[int]]:
    """Records the available memory of the machine at intervals, in bytes."""
    seen, stop = [available()], threading.Event()

    def look() -> None:
        while not stop.wait(_LOOK_S):
            seen.append(available())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield seen
    stop.set()
    thread.join()


def available() -> int:
    """Bytes of memory available without swapping, including pages of mapped files."""
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


JOBS = {work.__name__: work for work in (compiled, matched, rows_alone, rows_sent)}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
