"""Points in polygons and circles: the public call and shapely's STRtree with prepared geometries, with equal answers.

`kernel` runs from encoded points to the shapes that contain them, found and decided, which is also shapely's task.
Polygons have 5 to 200 corners and the size of towns. They lie around real cities (extra `peers`), drawn by population.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from numpy.typing import NDArray

import tocsin
from benchmarks.calibration import median_seconds, wall_seconds
from benchmarks.gazetteer_workload import Gazetteer
from benchmarks.rows import Row
from tocsin.columns.events.tables import encode_table
from tocsin.index.elements import with_conditions
from tocsin.language.distances import EARTH_M

_POINTS = 20_000
_SPREAD = 0.5
"""Spread of shapes and points around their cities, in degrees."""


def rows(subscriptions: int) -> Iterator[Row]:
    """Measure polygons, then circles."""
    random = np.random.default_rng(1)
    cities = Gazetteer()
    try:
        points = cities.around(random, _POINTS, _SPREAD)
    except ImportError:
        yield Row("all", "", "not installed", 0.0, "", "pip install 'tocsin[peers]'")
        return
    table = pa.table({"p": pa.array(points.tolist(), pa.list_(pa.float64()))})
    yield from _polygons(cities.around(random, subscriptions, _SPREAD), points, table)
    yield from _circles(random, cities.around(random, subscriptions, _SPREAD), points, table)


def _polygons(centres: NDArray[np.float64], points: NDArray[np.float64], table: pa.Table) -> Iterator[Row]:
    peer, expected = _of_shapely(np.array([*_stars(centres)]), points)
    yield Row("shapely", "", "points in polygons", peer, "points/s", f"{expected / len(points):.1f} matches")
    engine, seconds = _engine(
        f"S_INTERSECTS(p, {shapely.to_wkt(one, rounding_precision=-1)})" for one in _stars(centres)
    )
    yield from _ours("polygons", engine, seconds, table, peer)
    found = len(engine.match_batch(table, threads=1))
    assert found == expected, f"{found} pairs, and shapely finds {expected}"


def _circles(
    random: np.random.Generator, centres: NDArray[np.float64], points: NDArray[np.float64], table: pa.Table
) -> Iterator[Row]:
    metres = random.uniform(500, 10_000, len(centres))
    degrees = np.degrees(metres / EARTH_M)
    # on the plane, so the circles differ
    peer, _ = _of_shapely(shapely.buffer(shapely.points(centres), degrees, quad_segs=16), points)
    yield Row("shapely", "", "buffers on the plane", peer, "points/s", "64 corners each")
    engine, seconds = _engine(
        f"DISTANCE_M(p, POINT({x!r} {y!r})) <= {limit!r}"
        for (x, y), limit in zip(centres.tolist(), metres.tolist(), strict=True)
    )
    yield from _ours("circles", engine, seconds, table, peer)


def _ours(what: str, engine: tocsin.Engine, loading: float, table: pa.Table, peer: float) -> Iterator[Row]:
    """Loading, the first batch, and later ones beside shapely's points a second."""
    yield _each(f"load {what}", loading, len(engine), "with writing the texts")
    first = wall_seconds(lambda: engine.match_batch(table, threads=1))
    yield _kernel(engine, table, what, peer)
    later = median_seconds(lambda: engine.match_batch(table, threads=1))
    rate, found = table.num_rows / later, len(engine.match_batch(table, threads=1))
    note = f"{rate / peer:.1f} x shapely; {found / table.num_rows:.1f} matches"
    yield Row("access", "", f"public call, {what}", rate, "points/s", note)
    yield _each(f"first batch, {what}", first - later, len(engine), "more than later ones")


def _each(of: str, seconds: float, count: int, note: str) -> Row:
    return Row("access", "", of, seconds / count * 1e6, "us", f"each of {count:,}; {seconds:.1f} s, {note}")


def _kernel(engine: tocsin.Engine, table: pa.Table, what: str, peer: float) -> Row:
    wanted = engine._store.wanted
    batch = encode_table(table, wanted)
    rate = table.num_rows / median_seconds(lambda: with_conditions(batch, wanted))
    return Row("access", "", f"kernel, {what}", rate, "points/s", f"{rate / peer:.1f} x shapely")


def _of_shapely(shapes: NDArray[Any], points: NDArray[np.float64]) -> tuple[float, int]:
    """Points a second, and pairs. Frees its tree, because both sides with a million shapes exceed the memory."""
    tree = shapely.STRtree(shapes)
    shapely.prepare(shapes)
    places = shapely.points(points)
    seconds = median_seconds(lambda: tree.query(places, predicate="intersects"))
    return len(points) / seconds, len(tree.query(places, predicate="intersects")[0])


def _stars(centres: NDArray[np.float64]) -> Iterator[shapely.Polygon]:
    """Star-shaped polygons, the same each time."""
    random = np.random.default_rng(2)
    return (_star(random, x, y) for x, y in centres.tolist())


def _star(random: np.random.Generator, x: float, y: float) -> shapely.Polygon:
    count = int(random.integers(5, 201))
    angles = 2 * np.pi * (np.arange(count) + random.uniform(0, 0.9, count)) / count
    reach = random.uniform(0.005, 0.1) * random.uniform(0.6, 1, count)
    return shapely.Polygon(np.stack([x + reach * np.cos(angles), y + reach * np.sin(angles)], axis=1))


def _engine(texts: Iterable[str]) -> tuple[tocsin.Engine, float]:
    """An engine, and the time to load it."""
    begun = time.perf_counter()
    engine = tocsin.Engine()
    report = engine.subscribe_many({"id": number, "where": text} for number, text in enumerate(texts))
    assert not report.errors, report.errors[0].reason
    return engine, time.perf_counter() - begun
