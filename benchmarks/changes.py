"""The cost of changes: an engine with a tenth of changes in its traffic, and single matches."""

from __future__ import annotations

import gc
import statistics
import sys
from collections.abc import Iterator
from itertools import chain, count

import numpy as np

import tocsin
from benchmarks.boolean_workload import UNI, ZIPF, Workload
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects

_TRAFFIC = {"uni": (450, 50), "zipf": (45, 5)}
"""Events of a batch, and changes after it: a third each subscriptions, unsubscriptions and new scores.

A zipf event has hundreds of times as many matches.
"""

_SWITCH_S = 0.0005
"""How long a thread may keep Python's lock from another. A service that needs short pauses sets it like this."""


def rows(subscriptions: int, seconds: float = 8.0) -> Iterator[Row]:
    """Measure on both workloads."""
    for workload in (UNI, ZIPF):
        _compile_kernels()
        engine = tocsin.Engine()
        engine.subscribe_many(workload.conjunctions(subscriptions))
        sys.setswitchinterval(_SWITCH_S)
        yield from _single(workload, engine)
        yield from _churn(workload, engine, subscriptions, seconds)
        engine.close()


def _compile_kernels() -> None:
    """Compile every kernel that the measurement calls."""
    with tocsin.Engine(delta_limit=8) as engine:
        engine.subscribe_many(UNI.conjunctions(100))
        for number in range(40):
            engine.subscribe(f"x{number}", "a1 = 1 AND a2 <= 3", replace=True)
            list(engine.match({"a1": 1, "a2": 2, "a3": 3}))
            engine.unsubscribe(f"s{number:07d}")
        engine.merge()
        list(engine.match({"a1": 1}))


def _single(workload: Workload, engine: tocsin.Engine) -> Iterator[Row]:
    events = [event for event in workload.events(4000) if len(event) == 20]
    for name, work in (("match(dict)", engine.match), ("list(match(dict))", lambda event: list(engine.match(event)))):
        times = sorted(wall_seconds(lambda event=event, work=work: work(event)) for event in events)
        note = f"20 attributes; 99th percentile {times[len(times) * 99 // 100] * 1e6:,.0f} us"
        yield Row("engine", workload.name, name, statistics.median(times) * 1e6, "us", note)


def _churn(workload: Workload, engine: tocsin.Engine, subscriptions: int, seconds: float) -> Iterator[Row]:
    size, each = _TRAFFIC[workload.name]
    changes = _Changes(workload, engine, subscriptions)
    gc.collect()
    gc.freeze()  # as in a service: loaded objects stay, so the collector need not scan them again
    pause_free = _rate(workload, engine, iter(()), 0, seconds / 4)
    mixed = _rate(workload, engine, iter(changes), each, seconds)
    yield Row(
        "engine", workload.name, "events alone", pause_free.rate, "events/s", f"batches of {size}; {pause_free.note}"
    )
    note = f"{mixed.rate / pause_free.rate:.0%} of that; {changes.note()}; {mixed.note}"
    yield Row("engine", workload.name, "10 % changes", mixed.rate, "ops/s", note)


class _Rate:
    def __init__(self, operations: int, times: list[float]) -> None:
        self.rate = operations / sum(times)
        median, late = np.percentile(times, [50, 99.9]) * 1e3
        self.note = f"a batch: median {median:.1f} ms, 99.9th percentile {late:.1f} ms"


def _rate(workload: Workload, engine: tocsin.Engine, changes: Iterator[None], each: int, seconds: float) -> _Rate:
    """Events and changes a second of wall time, in one thread; the engine merges in the background."""
    times: list[float] = []
    batches = _batches(workload, engine)
    operations = 0
    while sum(times) < seconds:
        batch = next(batches)

        def work(batch: EventBatch = batch) -> None:
            with engine._store.reading() as snapshots:
                snapshots.find(batch)
            for _ in range(each):
                next(changes)

        times.append(wall_seconds(work))
        operations += len(batch) + each
    return _Rate(operations, times)


def _batches(workload: Workload, engine: tocsin.Engine) -> Iterator[EventBatch]:
    size, _ = _TRAFFIC[workload.name]
    events = list(enumerate(workload.events(450 * 32)))
    while True:
        for first in range(0, len(events), size):
            yield encode_objects(events[first : first + size], engine._store.wanted)


class _Changes:
    """An endless stream of changes, each timed."""

    def __init__(self, workload: Workload, engine: tocsin.Engine, subscriptions: int) -> None:
        self._engine = engine
        self._texts = workload.texts(200_000, seed=7)
        first = np.random.default_rng(3).permutation(subscriptions).tolist()
        self._victims = chain((f"s{number:07d}" for number in first), (f"new{number}" for number in count()))
        self._times: list[float] = []
        for text in self._texts:  # an engine that has run for an hour knows the templates of new texts
            instance = engine._templates.instance(text)
            if instance is not None:
                engine._store.book.read(instance)

    def __iter__(self) -> Iterator[None]:
        number = 0
        while True:
            text = self._texts[number % len(self._texts)]
            self._time(lambda n=number, text=text: self._engine.subscribe(f"new{n}", text))
            yield
            self._time(lambda: self._engine.unsubscribe(next(self._victims)))
            yield
            self._time(lambda n=number: self._engine.rescore(f"new{n}", n % 7))
            yield
            number += 1

    def _time(self, work: object) -> None:
        self._times.append(wall_seconds(work))

    def note(self) -> str:
        """A note on the cost of changes."""
        median, late = np.percentile(self._times, [50, 99.9])
        return f"a change: median {median * 1e6:.0f} us, 99.9th percentile {late * 1e3:.2f} ms"
