"""Measures the cost of each step: in this process if Spark is not needed, otherwise by separate jobs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from benchmarks.jobs import job

from reproduce.cluster.jobs import TASK_BYTES
from reproduce.cluster.model import Costs
from reproduce.messages import ZIPF
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import read_part
from tocsin.index import choose
from tocsin.index.elements import with_conditions
from tocsin.placement import Router, keys_of_partitions, planned
from tocsin.segment import Snapshots, assemble
from tocsin.spark.answering import MatchOptions, encoded_events, find, ids_and_scores, lists_of

JOBS = "reproduce.cluster.jobs"
SIZES = (32_000, 128_000, 512_000)
_ROUNDS = 5
_MATCHES = 200
_PADDING = 1_000
_OFTEN = 9
"""Copies of each row that are sent. With fewer, their cost would be below the difference between two runs."""


class Matched(NamedTuple):
    """The cost of matching in a worker, in CPU seconds an event."""

    visit: float
    subscription: float
    read: float  # encoding the event
    looked_up: float  # looking up the parts that it visits
    matches: float  # matches of an event for a million subscriptions


def in_a_worker(events: pa.Table) -> Matched:
    """Measure segments of several sizes, and fit a line to their times."""
    batch = events.combine_chunks().to_batches()[0]
    asked = MatchOptions(tuple(batch.schema.names), tuple(batch.schema.names))
    taken, found = [], 0.0
    for size in SIZES:
        part, _ = read_part(ZIPF.subscriptions(size).table())
        snapshots = Snapshots.of([assemble(part, choose("auto"))])
        read = cpu_of(lambda own=snapshots: encoded_events(batch, asked, own.wanted))  # type: ignore[misc]
        whole = cpu_of(lambda own=snapshots: _answered(batch, asked, own))  # type: ignore[misc]
        taken.append((whole - read) / batch.num_rows)
        found = _answered(batch, asked, snapshots) / batch.num_rows / size * 1e6
    per_subscription, visit = np.polyfit(SIZES, taken, 1, w=1 / np.array(taken))
    if per_subscription <= 0:
        raise RuntimeError(f"{taken} s an event of {SIZES} subscriptions: the machine is too busy; measure again")
    return Matched(
        max(float(visit), 0.0), float(per_subscription), read / batch.num_rows, _looked_up(batch, asked), found
    )


def _answered(batch: pa.RecordBatch, asked: MatchOptions, snapshots: Snapshots) -> int:
    found = find(batch, asked, snapshots)
    lists_of(found.owners, ids_and_scores(snapshots, found), found.is_served)
    return len(found.places)


def _looked_up(batch: pa.RecordBatch, asked: MatchOptions) -> float:
    """The time to look up the parts that an event visits, with a placement by keywords."""
    part, _ = read_part(ZIPF.subscriptions(SIZES[1]).table())
    placement, _ = planned(part, "keyword", 8)
    router = Router.of(placement, keys_of_partitions(placement.assign(part), placement))
    wanted = Wanted(part.compiled.attributes)
    (encoded,) = encoded_events(batch, asked, wanted)[0]
    return cpu_of(lambda: router.visits(with_conditions(encoded, wanted))) / batch.num_rows


def cpu_of(work: Callable[[], Any]) -> float:
    """The median CPU seconds, after a first call."""
    taken = []
    for _ in range(_ROUNDS + 1):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return statistics.median(taken[1:])


def costs_of(folder: Path, events: int, matched: Matched) -> Costs:
    """The costs of rows, matches, shuffles and tasks, from the differences between jobs."""
    plain = job(JOBS, "rows_alone", cores=1, folder=str(folder))
    found = job(JOBS, "rows_alone", cores=1, folder=str(folder), matches=_MATCHES)
    once, often, padded = (
        job(JOBS, "rows_sent", cores=1, folder=str(folder), copies=copies, padding=padding)
        for copies, padding in ((1, 0), (_OFTEN, 0), (_OFTEN, _PADDING))
    )
    tasks = -(-(folder / "events.parquet").stat().st_size // TASK_BYTES)
    sent = max(often["cpu"] - once["cpu"], 0.0) / events / (_OFTEN - 1)
    return Costs(
        event=max(plain["cpu"] - tasks * plain["task"], 0.0) / events + matched.read + matched.looked_up,
        read=matched.read,
        visit=matched.visit,
        subscription=matched.subscription,
        match=max(found["cpu"] - plain["cpu"], 0.0) / events / _MATCHES,
        sent=sent,
        byte=max(padded["cpu"] - often["cpu"], 0.0) / events / _OFTEN / _PADDING,
        task=plain["task"],
        job=max(plain["seconds"] - plain["cpu"], 0.1),
        shuffle=max(once["cpu"] - plain["cpu"] - events * sent, 0.0),
    )
