"""Other questions on B1's subscriptions: `Relaxed`, and events with ranges for some values."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.boolean_workload import UNI, ZIPF, Workload
from benchmarks.calibration import median_seconds
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import build_from
from tocsin.index import choose, question_of
from tocsin.index.boolean.scan import Scan
from tocsin.model.ranking import Relaxed
from tocsin.model.values import Range
from tocsin.segment import Segment

_K = 20
_HALF = 2.0  # a range extends this far to both sides of B1's value
_EVERY = 5  # one value in this many is a range


def rows(subscriptions: int) -> Iterator[Row]:
    """Measure on both workloads."""
    for workload, count in ((UNI, 512), (ZIPF, 256)):
        segment, _ = build_from(workload.conjunctions(subscriptions), choose("access"))
        wanted = Wanted(segment.matcher.attributes)
        events = list(workload.events(count))
        spans = [
            {name: _span(value) if place % _EVERY == 0 else value for place, (name, value) in enumerate(event.items())}
            for event in events
        ]
        batch, ranged = (encode_objects(enumerate(some), wanted) for some in (events, spans))
        yield from _relaxed(workload, segment, batch, ranged)
        yield from _ranges(workload, segment, ranged)


def _span(value: float) -> Range:
    return Range(value - _HALF, value + _HALF)


def _relaxed(workload: Workload, segment: Segment, batch: EventBatch, ranged: EventBatch) -> Iterator[Row]:
    index = segment.structure(question_of(Relaxed(_K)))
    for name, events in (("", batch), (" of ranges", ranged)):
        found = index.match(events, Relaxed(_K))
        seconds = median_seconds(lambda events=events: index.match(events, Relaxed(_K)))  # type: ignore[misc]
        note = (
            f"weights of 1; {found.candidates_examined / len(events):,.0f} ranges looked at, "
            f"{found.verified / len(events):,.0f} subscriptions of which any holds"
        )
        yield Row("relaxed", workload.name, f"Relaxed({_K}), B1{name}", len(events) / seconds, "events/s", note)


def _ranges(workload: Workload, segment: Segment, ranged: EventBatch) -> Iterator[Row]:
    found = segment.match(ranged, None)
    seconds = median_seconds(lambda: segment.match(ranged, None))
    scan = Scan.build(segment.matcher.expressions())
    whole = median_seconds(lambda: scan.match(ranged))
    note = (
        f"{whole / seconds:.1f} x scan; one value in {_EVERY} a range of {2 * _HALF:.0f}; an event has "
        f"{found.starts[-1] / len(ranged):,.0f} matches, {found.candidates_examined / len(ranged):,.0f} examined"
    )
    yield Row("access", workload.name, "events with ranges", len(ranged) / seconds, "events/s", note)
