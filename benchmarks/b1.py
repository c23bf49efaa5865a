"""B1: boolean matching, from packed batches, from JSON lines and from dicts, with where the time goes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.boolean_workload import UNI, ZIPF, Workload
from benchmarks.calibration import median_seconds
from tocsin.columns.batch import Wanted
from tocsin.columns.compiled import CompiledExpressions, compile_expressions
from tocsin.columns.objects import encode_objects
from tocsin.engine.matching import encode_chunk
from tocsin.index import Registration, registrations
from tocsin.language import parse
from tocsin.records import read_events


@dataclass(frozen=True)
class Row:
    """One measurement. `note` says where the time goes."""

    index: str
    workload: str
    source: str
    events_per_second: float
    matches_per_event: float
    note: str


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure every matcher on both workloads."""
    for workload in (UNI, ZIPF):
        compiled, built = _compiled(workload, subscriptions)
        for registration in registrations():
            if registration.question == "all matches":
                yield from _measure(registration, workload, compiled, built, list(workload.events(events)))


def _compiled(workload: Workload, count: int) -> tuple[CompiledExpressions, str]:
    texts = list(workload.subscriptions(count))
    begun = time.perf_counter()
    trees = [parse(text) for text in texts]
    parsed = time.perf_counter()
    compiled = compile_expressions(trees)
    done = time.perf_counter()
    size = sum(array.nbytes for array in compiled.arrays) / count
    return compiled, f"parse {parsed - begun:.1f} s, compile {done - parsed:.1f} s, {size:.0f} B/subscription"


def _measure(
    registration: Registration, workload: Workload, compiled: CompiledExpressions, built: str, events: list[dict]
) -> Iterator[Row]:
    matcher = registration.builder().build(compiled)
    wanted = Wanted(compiled.attributes)
    batch = encode_objects(enumerate(events), wanted)
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()

    match = median_seconds(lambda: matcher.match(batch))
    encode = median_seconds(lambda: encode_objects(enumerate(events), wanted))
    read = median_seconds(lambda: [encode_chunk(chunk, wanted) for chunk in read_events(lines)])
    per_event = len(matcher.match(batch).events) / len(events)

    def row(source: str, total: float, note: str) -> Row:
        return Row(registration.name, workload.name, source, len(events) / total, per_event, note)

    def share(**parts: float) -> str:
        whole = sum(parts.values())
        return ", ".join(f"{name} {part / whole:.0%}" for name, part in parts.items())

    yield row("packed batch", match, built)
    yield row("dicts", encode + match, share(encode=encode, match=match))
    yield row("JSON lines", read + match, share(read=read, match=match))
