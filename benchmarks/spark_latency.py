"""Spark: the latency of a stream from event to sink."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.boolean_workload import UNI
from benchmarks.jobs import job
from benchmarks.rows import Row
from benchmarks.spark import JOBS
from tocsin.engine.loading import build_from
from tocsin.index import choose
from tocsin.segment import write_index

_RATE = 1_000
_BATCHES = 240

_DEFAULTS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
    "spark.python.unix.domain.socket.enabled": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
}
"""Spark's own settings, for comparison with those of `local_session`."""


def rows(subscriptions: int) -> Iterator[Row]:
    """The latency with Spark's own settings and with those of `local_session`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = folder / "index-uni"
        segment, _ = build_from(UNI.conjunctions(subscriptions), choose("auto"))
        write_index(index, segment)
        (folder / "lines.txt").write_text("\n".join(json.dumps(event) for event in UNI.events(4096)), encoding="utf-8")
        given = {"master": "local[2]", "folder": str(folder), "index": str(index), "batches": _BATCHES, "rate": _RATE}
        for of, conf in {"Spark's settings": _DEFAULTS, "local_session's": {}}.items():
            found = job(JOBS, "latency", **given, conf=conf)
            stages = ", ".join(f"{name} {value:.0f}" for name, value in found["stages"].items())
            note = f"99 %: {found['p99']:.0f} ms; {found['batches']} batches, {found['matches']:.0f} matches each; "
            yield Row("event to sink", f"{found['subscriptions'] // 1000}k", of, found["median"], "ms", note + stages)
