"""Ranked: the best 20 intervals that contain a value, by five structures, and d-dimensional subscriptions."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from reproduce.loads import coded, dimension_names, dimensions_of
from reproduce.zipfian import Boxes, Floats, Points, short_boxes

from benchmarks.calibration import median_seconds
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted
from tocsin.index import ranker_builder, registrations
from tocsin.index.relaxed.index import build_relaxed
from tocsin.index.relaxed.question import RANKER
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.model.ranking import Relaxed

_K = 20
_QUERIES = 20_000
_SLOW_QUERIES = 200
_EVENTS = 256
_MOST_DIMENSIONS = 8_000_000
_DIMENSIONS = (1, 2, 4, 8, 64, 256)
_LONG = 0.05  # mean length of an interval with many dimensions


def rows(subscriptions: int) -> Iterator[Row]:
    """Measure both regimes, because the paper's workload favours a sorted scan."""
    for load in ("paper", "short"):
        yield from _structures(load, subscriptions)
    for dimensions in _DIMENSIONS:
        for load in ("paper", "short") if dimensions <= 8 else ("long",):
            yield _relaxed(load, min(subscriptions, _MOST_DIMENSIONS // dimensions), dimensions)


def _structures(load: str, count: int) -> Iterator[Row]:
    intervals, codes = coded(*drawn(load, count, 1, _QUERIES))
    codes = np.ascontiguousarray(codes.reshape(-1), np.int32)
    for registration in registrations():
        if registration.question == "the best first":
            yield _structure(registration.name, load, intervals, codes)


def _structure(name: str, load: str, intervals: ScoredIntervals, codes: NDArray[np.int32]) -> Row:
    builder = ranker_builder(name, {})
    builder.build(intervals)
    begun = time.perf_counter()
    ranker = builder.build(intervals)
    built = time.perf_counter() - begun
    own = codes[:_SLOW_QUERIES] if name in ("scored_r_tree", "interval_tree") else codes
    groups = np.zeros(len(own), np.int32)
    rate = len(own) / median_seconds(lambda: ranker.best(groups, own, _K), 5)
    looked_at = ranker.best(groups, own, _K).examined / len(own)
    size = ranker.sizes()["structure"] / len(intervals)
    note = f"{looked_at:,.0f} intervals looked at; {size:.1f} B an interval, built in {built:.2f} s"
    return Row(name, load, f"best {_K}", rate, "queries/s", note)


def _relaxed(load: str, count: int, dimensions: int) -> Row:
    boxes, points = drawn(load, count, dimensions, _EVENTS)
    made = dimensions_of(boxes)
    index = build_relaxed(made, ranker_builder(RANKER, {}))
    all_looked_at = build_relaxed(made, ranker_builder(RANKER, {}), is_scan=True)
    batch, few = _batch(points), _batch(points[:64])
    seconds = median_seconds(lambda: index.match(batch, Relaxed(_K)))
    whole = median_seconds(lambda: all_looked_at.match(few, Relaxed(_K))) / len(few)
    found = index.match(batch, Relaxed(_K))
    rate = len(batch) / seconds
    note = (
        f"{count:,} subscriptions; {found.candidates_examined / len(batch):,.0f} intervals looked at, "
        f"{found.verified / len(batch):,.0f} subscriptions scored; {rate * whole:.1f} x a look at everything"
    )
    return Row("relaxed", load, f"Relaxed({_K}), d = {dimensions}", rate, "events/s", note)


def drawn(load: str, count: int, dimensions: int, queries: int) -> tuple[Boxes, Floats]:
    """The intervals and queries of a load."""
    random = np.random.default_rng(1)
    if load == "paper":
        points = Points.of(random, dimensions=dimensions)
        return points.draw_boxes(random, count), points.draw(random, queries)
    boxes = short_boxes(random, count, dimensions, _LONG if load == "long" else 1e-4)
    return boxes, random.random((queries, dimensions))


def _batch(points: Floats) -> EventBatch:
    names = dimension_names(points.shape[1])
    return encode_table(pa.table({name: points[:, i] for i, name in enumerate(names)}), Wanted(names))
