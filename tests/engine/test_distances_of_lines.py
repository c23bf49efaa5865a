"""How far a line is from a point: held against many points of its great circles, everywhere on the globe."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tocsin
from tests.engine.test_distances import check_every_form, globe, latitudes
from tocsin.index.places.ways import Ways
from tocsin.language.distances import EARTH_M, distance_m
from tocsin.model.shapes import geometry_of, shape_of_geojson
from tocsin.model.values import Point, Shape

CENTRE = Point(13.4, 52.5)


def line(*vertices: Any) -> dict[str, Any]:
    return {"type": "LineString", "coordinates": [list(vertex) for vertex in vertices]}


@st.composite
def near(draw: Any, of: tuple[float, float]) -> tuple[float, float]:
    """A place within some kilometres of another, or anywhere."""
    if draw(st.booleans()):
        return draw(globe)
    lon, lat = of[0] + draw(st.floats(-0.1, 0.1)), of[1] + draw(st.floats(-0.1, 0.1))
    return (lon + 540) % 360 - 180, max(-90.0, min(90.0, lat))


@st.composite
def lines(draw: Any) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Vertices, no two of them in a row the same, and a point, often near the first."""
    first = draw(globe)
    vertices = [first]
    for _ in range(draw(st.integers(1, 3))):
        vertices.append(draw(near(vertices[-1])))
    assume(all(abs(_dot(one, other)) < 1 - 1e-15 for one, other in pairwise(vertices)))
    return vertices, draw(near(first))


def vector(point: tuple[float, float]) -> np.ndarray:
    lon, lat = np.radians(point)
    return np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _dot(one: tuple[float, float], other: tuple[float, float]) -> float:
    return float(vector(one) @ vector(other))


def along(one: tuple[float, float], other: tuple[float, float], count: int = 2001) -> np.ndarray:
    """Directions along a great circle, both ends among them."""
    a, b = vector(one), vector(other)
    angle = math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))
    shares = np.linspace(0, 1, count)[:, None]
    found = np.sin((1 - shares) * angle) * a + np.sin(shares * angle) * b
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def by_points(vertices: list[tuple[float, float]], point: tuple[float, float]) -> tuple[float, float]:
    """The distance to the nearest of many points of a line, and how much less it may be between two of them."""
    best, step = math.inf, 0.0
    for one, other in pairwise(vertices):
        points = along(one, other)
        chords = np.linalg.norm(points - vector(point), axis=1)
        best = min(best, 2 * EARTH_M * math.asin(min(float(chords.min()) / 2, 1.0)))
        step = max(step, EARTH_M * float(np.linalg.norm(points[1] - points[0])))
    return best, step


@given(lines())
def test_the_distance_is_that_of_the_nearest_point(drawn):
    vertices, point = drawn
    nearest, step = by_points(vertices, point)

    found = distance_m(shape_of_geojson(line(*vertices)), Point(*point))

    assert found is not None
    assert nearest - step - 1 <= found <= nearest + 1


@pytest.mark.parametrize(
    ("vertices", "point", "expected"),
    [
        ([(0, 0), (10, 0)], (5, 1), math.radians(1) * EARTH_M),  # beside it
        ([(0, 0), (10, 0)], (12, 0), math.radians(2) * EARTH_M),  # beyond its end
        ([(0, 0), (10, 0), (10, 10)], (11, 5), None),  # beside its second half
        ([(179, 0), (-179, 0)], (180, 1), math.radians(1) * EARTH_M),  # the shorter way, across the antimeridian
        ([(0, 80), (180, 80)], (90, 90), 0),  # across the pole
        ([(-73.778, 40.641), (-0.454, 51.47)], (-40, 52.5), None),  # New York to London passes far in the north
    ],
)
def test_known_distances(vertices, point, expected):
    step = 0.0
    if expected is None:
        expected, step = by_points(vertices, point)
    found = distance_m(Shape("LINESTRING (" + ", ".join(f"{x} {y}" for x, y in vertices) + ")"), Point(*point))

    assert found == pytest.approx(expected, rel=1e-6 if step == 0 else 1e-2, abs=1e-3)


@given(lines())
def test_a_way_lies_in_its_box(drawn):
    """No false negatives: great circles lead farther to the north than their ends, and across the antimeridian."""
    vertices, _ = drawn
    ways = Ways.of([geometry_of(shape_of_geojson(line(*vertices)))])

    for (left, low, right, high), (one, other) in zip(ways.boxes(), pairwise(vertices), strict=True):
        points = along(one, other, 101)
        lon, lat = np.degrees(np.arctan2(points[:, 1], points[:, 0])), np.degrees(np.arcsin(points[:, 2]))
        assert ((low <= lat) & (lat <= high)).all()
        assert ((left <= lon) & (lon <= right) | (np.abs(lat) > 90 - 1e-5)).all()


def moved(of: tuple[float, float]) -> st.SearchStrategy[Any]:
    """Geometries without an area, some with one, some off the globe."""
    pairs = st.tuples(near(of), near(of)).filter(lambda two: two[0] != two[1])
    return st.one_of(
        pairs.map(lambda two: line(*two)),
        st.tuples(pairs, near(of)).map(lambda own: line(*own[0], own[1])),
        st.lists(pairs, min_size=1, max_size=2).map(
            lambda own: {"type": "MultiLineString", "coordinates": [[list(v) for v in two] for two in own]}
        ),
        st.lists(near(of), min_size=1, max_size=3).map(
            lambda own: {"type": "MultiPoint", "coordinates": [list(v) for v in own]}
        ),
        st.just({"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 0]]]}),
        st.just(line((0, 0), (200, 0))),
    )


@st.composite
def cases(draw: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """Circles around one place or anywhere, and geometries near it; limits that are a distance to the last bit."""
    home = draw(globe)
    events = [{"p": shape, "n": 1} for shape in draw(st.lists(moved(home), min_size=1, max_size=5))]
    texts = []
    for _ in range(draw(st.integers(1, 6))):
        centre = draw(near(home))
        exact = [distance_m(_shape_of(event["p"]), Point(*centre)) for event in events]
        limits = [one for one in exact if one is not None] or [1.0]
        limit = draw(st.one_of(st.floats(0, 30_000), st.floats(0, 2.1e7), st.sampled_from(limits)))
        op = draw(st.sampled_from(["<", "<=", ">", ">="]))
        texts.append(f"DISTANCE_M(p, POINT({centre[0]!r} {centre[1]!r})) {op} {limit!r}")
    return texts, events


def _shape_of(document: Any) -> Shape | None:
    return shape_of_geojson(document)


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(cases())
def test_every_form_answers_like_the_evaluator(drawn):
    """Of lines, of areas and of what is off the globe; beside NOT."""
    texts, events = drawn

    check_every_form([*texts, *(f"NOT {text}" for text in texts)], events)


def test_many_circles_are_met_by_many_lines():
    """All over the globe, held against every distance."""
    dice = np.random.default_rng(7)
    centres = np.column_stack([dice.uniform(-180, 180, 600), np.degrees(np.arcsin(dice.uniform(-1, 1, 600)))]).tolist()
    limits = dice.uniform(0, 900_000, 600).tolist()
    events = []
    for _ in range(60):
        first = [float(dice.uniform(-180, 180)), float(dice.uniform(-89, 89))]
        second = [float(dice.uniform(-180, 180)), max(-90.0, min(90.0, first[1] + float(dice.normal(0, 20))))]
        events.append({"p": line(first, second)})
    engine = tocsin.Engine()
    engine.subscribe_many(
        {"id": n, "where": f"DISTANCE_M(p, POINT({x!r} {y!r})) <= {limit!r}"}
        for n, ((x, y), limit) in enumerate(zip(centres, limits, strict=True))
    )

    found = {(r["event"], r["subscription"]) for r in engine.match_batch(events)}

    for row, event in enumerate(events):
        shape = shape_of_geojson(event["p"])
        for n, (centre, limit) in enumerate(zip(centres, limits, strict=True)):
            assert (distance_m(shape, Point(*centre)) <= limit) == ((row, n) in found)


@given(latitudes, st.floats(0.001, 1.0))
def test_a_circle_that_an_object_passes_is_crossed(latitude, width):
    """Around the antimeridian as anywhere else; one that it stays beside is not."""
    assume(abs(latitude) < 89)
    for middle in (13.4, 180.0, -180.0, 179.9999):
        engine = tocsin.Engine()
        centre = f"POINT({middle!r} {latitude!r})"
        radius = EARTH_M * math.radians(width) * math.cos(math.radians(latitude)) / 4
        engine.subscribe("met", f"DISTANCE_M(at, {centre}) <= {radius!r}")
        beside = latitude + (5.0 if latitude < 0 else -5.0)
        engine.subscribe("beside", f"DISTANCE_M(at, POINT({middle!r} {beside!r})) <= 1000")
        fences = tocsin.Fences(engine, key="of", path="at")
        west, east = middle - width / 2, middle + width / 2
        west, east = west + 360 * (west < -180), east - 360 * (east > 180)

        assert fences.push({"of": 1, "at": [west, latitude]}) == []
        assert [(one.subscription, one.change) for one in fences.push({"of": 1, "at": [east, latitude]})] == [
            ("met", "cross")
        ]


@pytest.mark.parametrize("half", [0.8, 5.0])
def test_the_antimeridian_is_no_place_of_its_own(half):
    """What a way crosses does not change when all is turned by ten degrees, far in the north where it matters."""
    latitude = math.radians(70)
    middle = math.degrees(math.atan2(math.sin(latitude), math.cos(latitude) * math.cos(math.radians(half))))
    found = []
    for centre in (170.0, 180.0):
        engine = tocsin.Engine()
        for number, height in enumerate((middle, 70.0, (middle + 70) / 2)):
            engine.subscribe(number, f"DISTANCE_M(at, POINT({centre!r} {height!r})) <= 50")
        fences = tocsin.Fences(engine, key="of", path="at")
        fences.push({"of": 1, "at": [centre - half, 70]})
        east = centre + half
        found.append([one.subscription for one in fences.push({"of": 1, "at": [east - 360 * (east > 180), 70]})])

    assert found == [[0], [0]]
