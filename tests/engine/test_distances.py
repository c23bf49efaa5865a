"""Distances on the sphere: held against angles between vectors, everywhere on the globe and in every form."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tocsin.index.places import with_places
from tocsin.language.distances import EARTH_M, FARTHEST_M, boxes_around, distance_m
from tocsin.model.readings import PLACED, as_condition
from tocsin.model.values import Box, Point

longitudes = st.one_of(st.floats(-180, 180), st.sampled_from([-180.0, -179.9, 0.0, 13.4, 179.9, 180.0]))
latitudes = st.one_of(st.floats(-90, 90), st.sampled_from([-90.0, -89.9, 0.0, 52.5, 89.9, 90.0]))
globe = st.tuples(longitudes, latitudes)
metres = st.one_of(st.floats(0, FARTHEST_M * 1.1), st.floats(0, 50_000), st.sampled_from([0.0, 1e6, 1e7]))


def by_vectors(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The angle between two directions, by both of its products."""
    a, b = (
        (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
        for lon, lat in (map(math.radians, point) for point in (one, other))
    )
    cross = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return EARTH_M * math.atan2(math.hypot(*cross), sum(x * y for x, y in zip(a, b, strict=True)))


@given(globe, globe)
def test_the_haversine_is_the_angle(one, other):
    assert distance_m(Point(*one), Point(*other)) == pytest.approx(by_vectors(one, other), abs=0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 0), (0, 0), 0),
        ((0, 0), (180, 0), math.pi * EARTH_M),
        ((0, 90), (77, -90), math.pi * EARTH_M),
        ((179.5, 0), (-179.5, 0), math.radians(1) * EARTH_M),
        ((10, 90), (-170, 90), 0),
        ((-73.778, 40.641), (-0.454, 51.47), 5_540_000),  # from New York to London
    ],
)
def test_known_distances(one, other, expected):
    assert distance_m(Point(*one), Point(*other)) == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    "value", [None, 5.0, "x", Box(0, 0, 1, 1), (1.0, 91.0), (181.0, 1.0), (1.0, 2.0, 3.0, 4.0, 5.0)]
)
def test_what_is_no_point_of_the_globe_has_no_distance(value):
    assert distance_m(value, Point(0, 0)) is None


@given(globe, metres, globe)
def test_a_circle_lies_in_its_boxes(centre, limit, point):
    """No false negatives, whatever is near: the pole, the antimeridian, the other side."""
    if by_vectors(centre, point) <= limit:
        boxes = boxes_around(Point(*centre), limit)
        assert any(left <= point[0] <= right and low <= point[1] <= high for left, low, right, high in boxes)


@st.composite
def texts(draw: Any) -> str:
    (x, y), limit, op = draw(globe), draw(metres), draw(st.sampled_from(["<", "<=", ">", ">="]))
    text = f"DISTANCE_M(p, POINT({x!r} {y!r})) {op} {limit!r}"
    if draw(st.booleans()):
        text = f"{limit!r} {op} DISTANCE_M(POINT({x!r} {y!r}), p)"
    more = draw(st.sampled_from(["{}", "NOT {}", "{} AND n = 1", "n = 1 OR {}", "NOT ({} OR n = 1)", "ANY(l, {})"]))
    return more.format(text)


places = st.one_of(globe.map(list), globe.map(list), st.sampled_from([None, "x", [1, 95], [0, 0, 1, 1], [200, 0]]))
events = st.lists(
    st.fixed_dictionaries(
        {"p": places, "n": st.sampled_from([1, 2])},
        optional={"l": st.lists(st.fixed_dictionaries({"p": places, "n": st.just(1)}), max_size=2)},
    ),
    min_size=1,
    max_size=8,
)


def check_every_form(conditions: Sequence[str], given_events: Sequence[Any]) -> None:
    """Answers are the evaluator's: one by one, in batches, as JSON; by `access` and `scan`; a delta, a segment."""
    subscriptions = [{"id": number, "where": text} for number, text in enumerate(conditions)]
    expected = [
        (row, one["id"])
        for row, event in enumerate(given_events)
        for one in subscriptions
        if tocsin.explain(one["where"], event).matched
    ]
    lines = "\n".join(map(json.dumps, given_events)).encode()
    for index in ("access", "scan"):
        for source in (given_events, lines):
            answer = tocsin.match(subscriptions, source, index=index)
            assert [(r["event"], r["subscription"]) for r in answer] == expected
    engine = tocsin.Engine()
    for one in subscriptions:
        engine.subscribe(one["id"], one["where"])
    found = [(row, m.subscription) for row, event in enumerate(given_events) for m in engine.match(event)]
    assert found == expected


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(st.lists(texts(), min_size=1, max_size=8), events)
def test_every_form_answers_like_the_evaluator(conditions, given_events):
    """Of points, and of what is none."""
    check_every_form(conditions, given_events)


def test_many_circles_are_looked_up_by_their_boxes():
    """Around the globe, from an Arrow table; held against every distance."""
    circles = [((lon * 7.3 % 360) - 180, (lon * 3.1 % 180) - 90, 1000.0 * (lon % 900)) for lon in range(1500)]
    engine = tocsin.Engine()
    engine.subscribe_many(
        {"id": n, "where": f"DISTANCE_M(p, POINT({x!r} {y!r})) <= {limit}"} for n, (x, y, limit) in enumerate(circles)
    )
    points = [[(n * 11.7 % 360) - 180, (n * 5.9 % 180) - 90] for n in range(300)]
    table = pa.table({"p": pa.array(points, pa.list_(pa.float64()))})

    answer = engine.match_batch(table)

    assert [(r["event"], r["subscription"]) for r in answer] == [
        (row, n)
        for row, point in enumerate(points)
        for n, (x, y, limit) in enumerate(circles)
        if by_vectors((x, y), (point[0], point[1])) <= limit
    ]


def test_the_edge_is_in_or_out_as_the_evaluator_says():
    """Limits that are exactly a distance, and its neighbours."""
    centre, point = Point(13.4, 52.5), [13.5, 52.6]
    exact = distance_m(Point(*point), centre)
    assert exact is not None
    for limit in (exact, math.nextafter(exact, 0), math.nextafter(exact, math.inf)):
        for op in ("<", "<=", ">", ">="):
            text = f"DISTANCE_M(p, POINT(13.4 52.5)) {op} {limit!r}"
            holds = {"<": exact < limit, "<=": exact <= limit, ">": exact > limit, ">=": exact >= limit}[op]
            assert len(tocsin.match([{"id": 1, "where": text}], [{"p": point}])) == holds
            assert tocsin.explain(text, {"p": point}).matched == holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DISTANCE_M(p, POINT(0 91)) < 3", "latitude from -90 to 90, not 0 and 91"),
        ("DISTANCE_M(p, POINT(181 0)) < 3", "longitude from -180 to 180"),
        ("DISTANCE_M(p, POINT(0 0)) < -3", "a number of metres from 0 on, not -3"),
        ("DISTANCE_M(p, POINT(0 0)) = 3", "not with = or <>"),
        ("DISTANCE_M(p, q) < 3", "between an attribute and a point"),
        ("DISTANCE_M(p, BBOX(0, 0, 1, 1)) < 3", "between an attribute and a point"),
        ("DISTANCE_M(p, POINT(0 0)) < n", "compared with a number of metres"),
        ("DISTANCE_M(p, POINT(0 0)) < 'x'", "compared with a number of metres"),
        ("DISTANCE_M(p, POINT(0 0)) + 1 < 3", "compared with a number of metres"),
        ("DISTANCE_M(p, POINT(0 0)) BETWEEN 1 AND 3", "compared with a number of metres"),
        ("DISTANCE_M(p, POINT(0 0)) IS NULL", "compared with a number of metres"),
        ("DISTANCE_M(p, POINT(0 0))", "a condition is needed"),
        ("DISTANCE_M(p) < 3", "takes two arguments"),
        ("DISTANC_M(p, POINT(0 0)) < 3", "did you mean DISTANCE_M"),
    ],
)
def test_what_makes_no_sense_is_refused(text, said):
    with pytest.raises(tocsin.ExpressionError, match=said):
        tocsin.parse(text)


def test_text_and_json_are_the_same():
    tree = tocsin.parse("1500 >= distance_m(location, POINT(13.4 52.5)) AND open")

    assert tocsin.parse_json(tocsin.to_json(tree)) == tree
    assert tocsin.parse(tocsin.to_text(tree)) == tree


def test_it_is_saved_and_a_changed_text_is_refused(tmp_path):
    """A segment keeps the condition's text in a name."""
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": 1, "where": "DISTANCE_M(p, POINT(1 2)) <= 500"}])
    engine.save(tmp_path)
    again = tocsin.Engine.load(tmp_path)

    assert [m.subscription for m in again.match({"p": [1, 2.001]})] == [1]
    batch, wanted = _batch_asking("DISTANCE_M(place, POINT(1 x)) <= 500")
    with pytest.raises(tocsin.SegmentError, match="condition on a distance was changed"):
        with_places(batch, wanted)


def _batch_asking(text: str) -> Any:
    from tocsin.columns.events.objects import encode_objects
    from tocsin.columns.events.wanted import Wanted

    wanted = Wanted(["p", as_condition("p", text, PLACED)])
    return encode_objects([(0, {"p": [1, 2]})], wanted), wanted
