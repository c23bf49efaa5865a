"""The rate of two threads in one process: packed batches, and JSON lines including their reading."""

from __future__ import annotations

import json
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import tocsin
from benchmarks.boolean_workload import UNI, ZIPF, Workload
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row
from tocsin.columns.events.objects import encode_objects

Item = TypeVar("Item")

_BATCHES = 8
_ROUNDS = 5


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure on both workloads."""
    for workload, count in ((UNI, events), (ZIPF, max(events // 16, 64))):
        with tocsin.Engine() as engine:
            engine.subscribe_many(workload.conjunctions(subscriptions))
            yield from _measure(workload, engine, count)


def _measure(workload: Workload, engine: tocsin.Engine, count: int) -> Iterator[Row]:
    events = list(workload.events(count))
    size = -(-count // _BATCHES)
    parts = [events[first : first + size] for first in range(0, count, size)]
    packed = [encode_objects(enumerate(part), engine._store.wanted) for part in parts]
    lines = ["".join(json.dumps(event) + "\n" for event in part).encode() for part in parts]
    segment = engine._store.segments[0].segment
    yield _row(workload, "packed, two threads", packed, segment.matcher.match, count)
    yield _row(workload, "JSON lines, two threads", lines, lambda part: engine.match_batch(part, threads=1), count)


def _row(workload: Workload, name: str, items: Sequence[Item], work: Callable[[Item], object], count: int) -> Row:
    _seconds(items, work, 2)
    pairs = [(_seconds(items, work, 1), _seconds(items, work, 2)) for _ in range(_ROUNDS)]
    ratio = statistics.median(one / two for one, two in pairs)
    two = count / statistics.median(two for _, two in pairs)
    return Row(
        "access", workload.name, name, two, "events/s", f"{ratio:.2f} x one thread, the median of {_ROUNDS}; wall time"
    )


def _seconds(items: Sequence[Item], work: Callable[[Item], object], threads: int) -> float:
    """Wall seconds for all items, divided among threads."""

    def run(mine: Sequence[Item]) -> None:
        for item in mine:
            work(item)

    workers = [threading.Thread(target=run, args=(items[place::threads],)) for place in range(threads)]

    def all_of_them() -> None:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return wall_seconds(all_of_them)
