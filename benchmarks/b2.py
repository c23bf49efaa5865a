"""B2: covering rectangles. Every structure, compared with libraries of others (extra `peers`).

All find the rectangles that cover the same points, and their answers are compared. The libraries return unsorted
numbers and do not know expressions; tocsin's structures read a batch of events and return sorted matches.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import tocsin
from benchmarks.calibration import median_seconds
from benchmarks.rectangles_workload import LARGE, MODERATE, Map, expressions, texts
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.matching import encode_chunk
from tocsin.index import Matcher, matcher_builder
from tocsin.records import read_events

RECTANGLES = 256_000
_FEW = 512
"""The number of points for slow structures."""

Search = Callable[[NDArray[np.float64]], int]
"""Returns the number of pairs that a structure finds for points."""


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure on both maps."""
    for one in (MODERATE, LARGE):
        yield from _measure(one, min(subscriptions, RECTANGLES), events)


def _measure(one: Map, count: int, events: int) -> Iterator[Row]:
    rectangles, table = one.rectangles(count), one.events(events)
    points = np.stack([table["x"].to_numpy(), table["y"].to_numpy()], axis=1)
    few = points[:_FEW]
    expected: int | None = None
    best = 0.0
    for name, build in PEERS.items():
        searching = _peer(build, rectangles.astype(float))
        if searching is None:
            yield Row(name, one.name, "not installed", 0.0, "", "pip install 'tocsin[peers]'")
            continue
        search, seconds = searching
        found, rate = search(few), len(few) / median_seconds(lambda search=search: search(few))  # type: ignore[misc]
        assert expected in (None, found), f"{name} finds {found} pairs, and not {expected}"
        expected, best = found, max(best, rate)
        yield Row(
            name, one.name, "points", rate, "events/s", f"{found / len(few):,.0f} matches; built in {seconds:.2f} s"
        )
    yield from _ours(one, rectangles, table, expected, best)


def _ours(one: Map, rectangles: NDArray[np.int64], table: pa.Table, expected: int | None, best: float) -> Iterator[Row]:
    compiled = expressions(rectangles)
    for name in ("tiles", "vcr", "r_tree", "access"):
        builder = matcher_builder(name, {})
        builder.build(compiled)
        begun = time.perf_counter()
        matcher = builder.build(compiled)
        seconds = time.perf_counter() - begun
        batch = _batch(table, matcher)
        few = _batch(table.slice(0, _FEW), matcher)
        assert expected in (None, len(matcher.match(few).subscriptions)), f"{name} finds another number of pairs"
        asked = batch if name in ("tiles", "access") else few
        rate = len(asked) / median_seconds(lambda asked=asked, matcher=matcher: matcher.match(asked), 5)  # type: ignore[misc]
        beside = f"{rate / best:,.1f} x the best of others; " if best else ""
        size = getattr(matcher, "structure", None)
        own = "" if size is None else f", {sum(part.nbytes for part in size) / 1e6:.1f} MB"
        yield Row(name, one.name, "packed batch", rate, "events/s", f"{beside}built in {seconds:.2f} s{own}")
        if name == "tiles":
            yield _public(one, rectangles, table, rate)


def _public(one: Map, rectangles: NDArray[np.int64], table: pa.Table, kernel: float) -> Row:
    engine = tocsin.Engine("tiles")
    engine.subscribe_many(texts(rectangles))
    engine.merge()
    some = table.slice(0, min(len(table), 4096))
    rate = len(some) / median_seconds(lambda: engine.match_batch(some, threads=1).table)
    return Row("tiles", one.name, "public call, Arrow", rate, "events/s", f"{rate / kernel:.2f} of the kernel")


def _batch(table: pa.Table, matcher: Matcher) -> EventBatch:
    (chunk,) = read_events(table)
    return encode_chunk(chunk, Wanted(matcher.attributes))[0][0]


def _peer(
    build: Callable[[NDArray[np.float64]], Search], rectangles: NDArray[np.float64]
) -> tuple[Search, float] | None:
    begun = time.perf_counter()
    try:
        search = build(rectangles)
    except ImportError:
        return None
    return search, time.perf_counter() - begun


def _boostree(rectangles: NDArray[np.float64]) -> Search:
    library: Any = importlib.import_module("boostree")
    tree = library.RTree.from_boxes(np.ascontiguousarray(rectangles[:, :2]), np.ascontiguousarray(rectangles[:, 2:]))
    return lambda points: len(tree.intersect(points, points)[0])


def _geoindex(rectangles: NDArray[np.float64]) -> Search:
    library: Any = importlib.import_module("geoindex_rs.rtree")
    builder = library.RTreeBuilder(len(rectangles))
    builder.add(*(np.ascontiguousarray(side) for side in rectangles.T))
    tree = builder.finish()
    return lambda points: sum(len(library.search(tree, x, y, x, y)) for x, y in points.tolist())


def _shapely(rectangles: NDArray[np.float64]) -> Search:
    library: Any = importlib.import_module("shapely")
    tree = library.STRtree(library.box(*rectangles.T))
    return lambda points: tree.query(library.points(points)).shape[1]


def _rtree(rectangles: NDArray[np.float64]) -> Search:
    library: Any = importlib.import_module("rtree.index")
    numbers = np.arange(len(rectangles))
    tree = library.Index((numbers, rectangles[:, :2], rectangles[:, 2:]))
    return lambda points: len(tree.intersection_v(points, points)[0])


PEERS: dict[str, Callable[[NDArray[np.float64]], Search]] = {
    "boostree": _boostree,
    "geoindex-rs": _geoindex,
    "shapely": _shapely,
    "rtree": _rtree,
}
