"""B1: boolean matching from packed batches, every index beside `scan`; `access` also from JSON lines and from dicts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from benchmarks.boolean_workload import UNI, ZIPF, Workload
from benchmarks.calibration import median_seconds
from benchmarks.rows import Row
from tocsin.columns.batch import EventBatch, Wanted
from tocsin.columns.objects import encode_objects
from tocsin.engine.loading import build_from
from tocsin.engine.matching import encode_chunk
from tocsin.planner import choose
from tocsin.records import read_events
from tocsin.segment import Segment

_SCAN_SHARE = 32
"""`scan` is asked a part of the events: it takes as long for each, however many there are."""


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure on both workloads."""
    for workload, count in ((UNI, events), (ZIPF, max(events // 16, 64))):
        yield from _measure(workload, subscriptions, count)


def _measure(workload: Workload, subscriptions: int, count: int) -> Iterator[Row]:
    source = workload.conjunctions(subscriptions)
    segments = {index: build_from(source, choose(index))[0] for index in ("scan", "access")}
    wanted = Wanted(segments["access"].matcher.attributes)
    batch = _packed(workload, count, wanted)
    few = _packed(workload, max(count // _SCAN_SHARE, 64), wanted)
    scan = len(few) / median_seconds(lambda: segments["scan"].matcher.match(few))
    yield Row("scan", workload.name, "packed batch", scan, "events/s", _sizes(segments["scan"]))
    access = segments["access"].matcher
    found = access.match(batch)
    seconds = median_seconds(lambda: access.match(batch), 5)
    note = (
        f"{len(batch) / seconds / scan:,.1f} x scan; {found.starts[-1] / count:,.0f} matches, "
        f"{found.candidates_examined / count:,.0f} examined an event; {_sizes(segments['access'])}"
    )
    yield Row("access", workload.name, "packed batch", len(batch) / seconds, "events/s", note)
    yield Row("access", workload.name, "build", _build_seconds(segments["access"]), "s", "from compiled expressions")
    yield from _other_forms(workload, count, segments["access"], wanted, seconds / count)


def _packed(workload: Workload, count: int, wanted: Wanted) -> EventBatch:
    (chunk,) = workload.sparse_events(count).chunks() if count <= 16_384 else (None,)
    assert chunk is not None, "a batch has 16,384 events at most"
    return encode_chunk(chunk, wanted)[0][0]


def _sizes(segment: Segment) -> str:
    sizes = segment.matcher.sizes()
    own = {"ids": segment.ids, "texts": segment.sources}
    others = {name: texts.starts.nbytes + texts.data.nbytes for name, texts in own.items() if hasattr(texts, "starts")}
    shown = {**sizes, **others, "scores": segment.scores.nbytes}
    return ", ".join(f"{name} {size / len(segment):.0f}" for name, size in shown.items()) + " B/subscription"


def _build_seconds(segment: Segment) -> float:
    compiled = segment.matcher.expressions()
    begun = time.perf_counter()
    type(segment.matcher).build(compiled)  # type: ignore[attr-defined]
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
        yield Row("access", workload.name, form, 1 / (reading + matching), "events/s", note)
