"""B4 at the paper's size: `token_grid` over many regions with keywords, and its time and memory.

The paper had ten million subscriptions and reported 500 messages a second. Subscriptions are made in columns, because
reading a text takes 40 us. The result is still all that an engine keeps of them, including texts. Messages are drawn as
in `b4`.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from reproduce.located import compile_regions
from reproduce.messages import GROUPS, ZIPF, Group, Subscriptions

from benchmarks.calibration import median_seconds
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import expression_sizes
from tocsin.encoding import encode_chunk
from tocsin.engine.answer import Stats
from tocsin.engine.matching import Request, answer_of
from tocsin.index import Part, choose, matcher_builder
from tocsin.records import read_events
from tocsin.segment import Segment, Snapshots, assemble

INDEX = "token_grid"
_FEW = 8
"""The number of messages whose answers are compared with a scan of all subscriptions."""


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure with Zipfian words."""
    begun = time.perf_counter()
    part = _part(ZIPF.subscriptions(subscriptions), subscriptions)
    yield Row(INDEX, ZIPF.name, "made in columns", time.perf_counter() - begun, "s", _memory())
    segment, took = _segment(part)
    sizes = _sizes(segment)
    del part
    gc.collect()
    told = ", ".join(f"{size / subscriptions:.0f} bytes of {what}" for what, size in sizes.items())
    yield Row(INDEX, ZIPF.name, "built", took, "s", f"a subscription: {told}; {_memory()}")
    snapshots = Snapshots.of([segment])
    for group in GROUPS:
        yield from _measure(segment, snapshots, group, min(events, 2048))


def _part(held: Subscriptions, count: int) -> Part:
    texts = held.table()["where"].combine_chunks().cast(pa.large_string())
    return Part(pa.array(np.arange(count)), compile_regions(held), texts, np.ones(count), None, None)


def _segment(part: Part) -> tuple[Segment, float]:
    """A segment of subscriptions, and the time to build it with compiled kernels."""
    few = Part(
        part.ids[:1000], compile_regions(ZIPF.subscriptions(1000)), part.sources[:1000], np.ones(1000), None, None
    )
    assemble(few, choose(INDEX))
    begun = time.perf_counter()
    segment = assemble(part, choose(INDEX))
    return segment, time.perf_counter() - begun


def _sizes(segment: Segment) -> dict[str, int]:
    """Bytes of each part of a segment."""
    matcher = segment.matcher
    expressions = expression_sizes(matcher.expressions())["structure"]
    tokens = matcher.held.regions.tokens.nbytes
    own = matcher.sizes()["structure"] - expressions - tokens
    return {INDEX: own, "tokens": tokens, "expressions": expressions, "text": segment.sources.arrow().nbytes}


def _measure(segment: Segment, snapshots: Snapshots, group: Group, events: int) -> Iterator[Row]:
    table = ZIPF.messages(group, events)
    batches = _batches(snapshots, table)
    _hold(segment, snapshots, table.slice(0, _FEW))
    found = [segment.matcher.match(batch) for batch in batches]
    matches, candidates = (sum(counts) / events for counts in zip(*_counts(found), strict=True))
    kernel = events / median_seconds(lambda: [segment.matcher.match(batch) for batch in batches])
    note = f"{candidates:,.1f} candidates for {matches:,.1f} matches"
    yield Row(INDEX, ZIPF.name, f"{group.name}, kernel", kernel, "events/s", note)
    call = events / median_seconds(lambda: answer_of(snapshots, table, Request(threads=1), Stats(), []).table)
    yield Row(
        INDEX, ZIPF.name, f"{group.name}, call", call, "events/s", f"{call / kernel:.2f} of the kernel; {_memory()}"
    )


def _counts(found: list) -> Iterator[tuple[int, int]]:
    return ((len(one.subscriptions), one.candidates_examined) for one in found)


def _hold(segment: Segment, snapshots: Snapshots, few: pa.Table) -> None:
    scan = matcher_builder("scan", {}).build(segment.matcher.expressions())
    for batch in _batches(snapshots, few):
        ours, theirs = segment.matcher.match(batch), scan.match(batch)
        assert np.array_equal(ours.subscriptions, theirs.subscriptions), "token_grid and scan differ"


def _batches(snapshots: Snapshots, table: pa.Table) -> list[EventBatch]:
    return [batch for chunk in read_events(table) for batch in encode_chunk(chunk, snapshots.wanted)[0]]


def _memory() -> str:
    """The memory of the process, now and at its peak."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"resident {pages * os.sysconf('SC_PAGE_SIZE') / 1e9:.1f} GB, {most / 1e6:.1f} at most"
