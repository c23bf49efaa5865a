"""B1: Boolean matching. Every registered index and `scan`, from packed batches, JSON lines and dicts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.boolean_workload import UNI, VALUES, ZIPF, Workload
from benchmarks.calibration import median_seconds
from benchmarks.rows import Row
from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import build_from
from tocsin.engine.matching import encode_chunk
from tocsin.errors import UnsuitableIndex
from tocsin.index import choose, find_index, registrations
from tocsin.model.ranking import Top
from tocsin.records import read_events
from tocsin.segment import Segment, Snapshots

_FEW_RANKED = 1024
_ASKED_FOR = {"k_index": f"k_index(lowest=1, highest={VALUES})"}  # has no domain by default
_SCAN_SHARE = 32
"""`scan` and other baselines get 1/32 of the events, because their time per event does not depend on the number."""


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure on both workloads."""
    for workload, count in ((UNI, events), (ZIPF, max(events // 16, 64))):
        yield from _measure(workload, subscriptions, count)


def _measure(workload: Workload, subscriptions: int, count: int) -> Iterator[Row]:
    source = workload.conjunctions(subscriptions)
    base, _ = build_from(source, choose("scan"))
    wanted = Wanted(base.matcher.attributes)
    few = _packed(workload, max(count // _SCAN_SHARE, 64), wanted)
    scan = len(few) / median_seconds(lambda: base.matcher.match(few))
    yield Row("scan", workload.name, "packed batch", scan, "events/s", _sizes(base))
    batch = _packed(workload, count, wanted)
    for registration in registrations():
        if registration.question == "all matches" and registration.name != "scan":
            try:
                segment, _ = build_from(source, choose(_ASKED_FOR.get(registration.name, registration.name)))
            except UnsuitableIndex as error:
                yield Row(registration.name, workload.name, "refused", 0.0, "", error.reason)
                continue
            yield from _measure_index(workload, segment, few if registration.is_baseline else batch, scan)
            if not registration.is_baseline:
                yield from _other_questions(workload, segment, batch, wanted)


def _measure_index(workload: Workload, segment: Segment, batch: EventBatch, scan: float) -> Iterator[Row]:
    matcher, name, count = segment.matcher, segment.plan.index, len(batch)
    found = matcher.match(batch)
    seconds = median_seconds(lambda: matcher.match(batch), 5)
    note = (
        f"{count / seconds / scan:,.1f} x scan; {found.starts[-1] / count:,.0f} matches, "
        f"{found.candidates_examined / count:,.0f} examined an event; {_sizes(segment)}"
    )
    yield Row(name, workload.name, "packed batch", count / seconds, "events/s", note)
    yield Row(name, workload.name, "build", _build_seconds(segment), "s", "from compiled expressions")


def _other_questions(workload: Workload, segment: Segment, batch: EventBatch, wanted: Wanted) -> Iterator[Row]:
    """Top-k matching, and events that must first be read."""
    seconds = median_seconds(lambda: segment.matcher.match(batch))
    yield from _best(workload, segment, batch, seconds)
    yield from _other_forms(workload, len(batch), segment, wanted, seconds / len(batch))


def _best(workload: Workload, segment: Segment, batch: EventBatch, matching: float) -> Iterator[Row]:
    """The best 20 matches by random scores, compared with all matches."""
    scores = np.random.default_rng(1).random(len(segment))
    snapshots = Snapshots.of([replace(segment, scores=frozen(scores, np.float64))])
    few = batch if len(batch) < _FEW_RANKED else _packed(workload, _FEW_RANKED, Wanted(segment.matcher.attributes))

    def all_sorted() -> None:
        found = snapshots.find(few)
        np.lexsort((found.subscriptions, -scores[found.subscriptions], found.events))

    best = median_seconds(lambda: snapshots.find(few, Top(20))) / len(few)
    whole = median_seconds(all_sorted) / len(few)
    note = f"{whole / best:.1f} x all matches sorted; {matching / len(batch) / best:.0%} of all matches unsorted"
    yield Row(segment.plan.index, workload.name, "Top(20)", 1 / best, "events/s", note)


def _packed(workload: Workload, count: int, wanted: Wanted) -> EventBatch:
    (chunk,) = workload.sparse_events(count).chunks() if count <= 16_384 else (None,)
    assert chunk is not None, "a batch has 16,384 events at most"
    return encode_chunk(chunk, wanted)[0][0]


def _sizes(segment: Segment) -> str:
    sizes = segment.matcher.sizes()
    own = {"ids": segment.ids, "texts": segment.sources}
    others = {
        name: texts.starts.nbytes + memoryview(texts.data).nbytes
        for name, texts in own.items()
        if hasattr(texts, "starts")
    }
    shown = {**sizes, **others, "scores": segment.scores.nbytes}
    return ", ".join(f"{name} {size / len(segment):.0f}" for name, size in shown.items()) + " B/subscription"


def _build_seconds(segment: Segment) -> float:
    compiled = segment.matcher.expressions()
    builder = find_index(segment.plan.index).builder(**segment.plan.options)
    begun = time.perf_counter()
    builder.build(compiled)
    return time.perf_counter() - begun


def _other_forms(workload: Workload, count: int, segment: Segment, wanted: Wanted, matching: float) -> Iterator[Row]:
    events = list(workload.events(min(count, 4096)))
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()
    ways = {
        "dicts": lambda: encode_objects(enumerate(events), wanted),
        "JSON lines": lambda: [encode_chunk(chunk, wanted) for chunk in read_events(lines)],
    }
    for form, read in ways.items():
        reading = median_seconds(read) / len(events)
        note = f"reading {reading / (reading + matching):.0%}, matching {matching / (reading + matching):.0%}"
        yield Row(segment.plan.index, workload.name, form, 1 / (reading + matching), "events/s", note)
