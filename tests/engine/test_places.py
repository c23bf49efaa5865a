"""Spatial functions of places and any geometry: as the simple features define them, in every form and index."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.naive import match as naive
from tests.naive.flatten import flatten
from tests.naive.truth import truth
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.index.places import with_places
from tocsin.language.operators.spatial import SPATIAL_FUNCTIONS
from tocsin.model.readings import PLACED, as_condition

SHAPES = [
    "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))",
    "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))",
    "POLYGON((0 0, 2 4, 4 0, 2 1, 0 0))",
    "POLYGON((4 0, 6 0, 6 4, 4 4, 4 0))",
    "LINESTRING(0 0, 2 2, 4 0)",
    "LINESTRING(1 0, 1 4)",
    "MULTIPOINT((1 1), (2 2))",
    "MULTILINESTRING((0 1, 4 1), (2 0, 2 4))",
    "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((2 2, 3 2, 3 3, 2 2)))",
    "GEOMETRYCOLLECTION(POINT(3 3), POLYGON((0 2, 1 2, 1 3, 0 2)))",
    "POINT(2 2)",
    "BBOX(1, 1, 3, 3)",
    "BBOX(1, 1, 1, 3)",
]
coordinates = st.sampled_from([0, 0.5, 1, 2, 2.5, 3, 4, 5])
points = st.tuples(coordinates, coordinates)
boxes = st.tuples(points, points).map(lambda two: [*map(min, *two), *map(max, *two)])
GEOJSON = [shapely.geometry.mapping(shapely.from_wkt(text)) for text in SHAPES if not text.startswith("BBOX")]
ODD = [
    None,
    "POINT(1 1)",
    5,
    [1, 2, 3, 4, 5],
    [4, 4, 1, 1],
    {"type": "Polygon", "coordinates": [[[0, 0], [2, 2], [0, 0]]]},
]
places = st.one_of(
    points.map(list),
    points.map(lambda one: {"type": "Point", "coordinates": list(one)}),
    boxes,
    st.sampled_from(GEOJSON),
    st.sampled_from(ODD),
)
events = st.lists(st.fixed_dictionaries({"p": places, "q": places, "n": st.sampled_from([1, 2, None])}), max_size=10)


@st.composite
def texts(draw: Any) -> str:
    name, shape = draw(st.sampled_from(SPATIAL_FUNCTIONS)), draw(st.sampled_from(SHAPES))
    arguments = [draw(st.sampled_from(["p", "p", "q"])), draw(st.sampled_from([shape, shape, shape, "q"]))]
    if draw(st.booleans()):
        arguments.reverse()
    text = f"{name}({', '.join(arguments)})"
    if "GEOMETRYCOLLECTION" in text and name not in ("S_INTERSECTS", "S_DISJOINT"):
        text = f"S_INTERSECTS({', '.join(arguments)})"  # GEOS relates no mixed collections otherwise
    frames = ["{}", "{}", "NOT {}", "{} IS NULL", "{} = FALSE", "{} AND n = 1", "NOT ({} OR n = 2)"]
    return draw(st.sampled_from(frames)).format(text)


@settings(max_examples=settings.default.max_examples)
@given(texts=st.lists(texts(), min_size=1, max_size=10), batch=events, index=st.sampled_from(["access", "scan"]))
def test_matches_are_the_oracles(texts: list[str], batch: list[Any], index: str) -> None:
    """Points on corners and shared edges, in holes, boxes that have shrunk to lines; and what is no place."""
    batch = [*batch, {}]
    held = [{"id": number, "where": text} for number, text in enumerate(texts)]

    answer = tocsin.match(held, batch, index=index)

    pairs = [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]
    assert pairs == naive.match([(number, tocsin.parse(text)) for number, text in enumerate(texts)], batch)


@given(text=texts(), event=st.fixed_dictionaries({"p": places, "q": places}))
def test_explain_and_both_forms(text: str, event: dict[str, Any]) -> None:
    """Explained as the oracle has it, and read again from text and JSON."""
    tree = tocsin.parse(text)

    assert tocsin.explain(text, event).matched == (truth(tree, flatten(event)[0]) is True)
    assert tocsin.parse(tocsin.to_text(tree)) == tree
    assert tocsin.parse_json(json.loads(json.dumps(tocsin.to_json(tree)))) == tree


BANDS = ["BBOX(170, 0, -170, 4)", "BBOX(179, 1, -180, 2)", "BBOX(90, -90, -90, 90)", "BBOX(180, 1, -175, 1)"]
longitudes = st.sampled_from([-180, -175, -170, -90, 0, 90, 150, 170, 179, 180])
edges = st.tuples(longitudes, coordinates)
around = st.one_of(
    edges.map(list),
    st.sampled_from([[170, 0, -170, 4], [179, 1, 0, -178, 2, 0], [90, -90, -90, 90], [120, 1, -120, 1]]),
    st.tuples(edges, edges).map(lambda two: [*map(min, *two), *map(max, *two)]),
    st.tuples(edges, edges)
    .filter(lambda two: two[0] != two[1])
    .map(lambda two: {"type": "LineString", "coordinates": list(map(list, two))}),
    st.none(),
)


@st.composite
def crossing(draw: Any) -> str:
    name, band = draw(st.sampled_from(SPATIAL_FUNCTIONS)), draw(st.sampled_from(BANDS))
    if "180, " in band:
        name = draw(st.sampled_from(["S_INTERSECTS", "S_DISJOINT"]))  # GEOS relates no mixed collections otherwise
    arguments = [draw(st.sampled_from(["p", "q"])), band]
    if draw(st.booleans()):
        arguments.reverse()
    frames = ["{}", "NOT {}", "{} AND n = 1", "NOT ({} OR n = 2)", "ANY(l, {})"]
    return draw(st.sampled_from(frames)).format(f"{name}({', '.join(arguments)})")


@given(
    texts=st.lists(crossing(), min_size=1, max_size=8),
    batch=st.lists(
        st.fixed_dictionaries(
            {
                "p": around,
                "q": around,
                "n": st.sampled_from([1, 2, None]),
                "l": st.lists(st.fixed_dictionaries({"p": around, "q": around}), max_size=2),
            }
        ),
        max_size=8,
    ),
    index=st.sampled_from(["access", "scan", "auto"]),
)
def test_a_box_across_the_antimeridian_is_both_its_halves(texts: list[str], batch: list[Any], index: str) -> None:
    """A BBOX with xmin above xmax matches what its two halves match, and stays one box in text, JSON and explain."""
    trees = [tocsin.parse(text) for text in texts]

    answer = tocsin.match([{"id": n, "where": text} for n, text in enumerate(texts)], batch, index=index)

    expected = naive.match(list(enumerate(trees)), batch)
    assert [(row["event"], row["subscription"]) for row in answer.table.to_pylist()] == expected
    for number, tree in enumerate(trees):
        assert "BBOX" in tocsin.to_text(tree)
        assert tocsin.parse(tocsin.to_text(tree)) == tree
        assert tocsin.parse_json(json.loads(json.dumps(tocsin.to_json(tree)))) == tree
        for event in range(len(batch)):
            assert tocsin.explain(texts[number], batch[event]).matched == ((event, number) in expected)


@given(
    regions=st.lists(st.lists(st.sampled_from([*BANDS, "BBOX(-180, 0, 180, 1)"]), min_size=1, max_size=2), max_size=6),
    batch=st.lists(st.fixed_dictionaries({"p": around, "l": st.sampled_from([["a"], ["a", "b"]])}), max_size=8),
)
def test_structures_of_one_region_find_both_halves(regions: list[list[str]], batch: list[Any]) -> None:
    """By the box around all that an OR asks for; what comes may lie on both sides itself, or be a line."""
    texts = [" OR ".join(f"S_INTERSECTS(p, {region})" for region in some) for some in regions]
    for indexes, more in (
        (("tiles", "vcr", "r_tree"), "TRUE"),
        (("token_grid", "rt_tree", "keyword_first", "spatial_first", "inverted_r_tree"), "A_CONTAINS(l, ('b'))"),
    ):
        held = [{"id": n, "where": f"({text}) AND {more}"} for n, text in enumerate(texts)]
        expected = naive.match([(n, tocsin.parse(one["where"])) for n, one in enumerate(held)], batch)
        for index in indexes if held else ():
            answer = tocsin.match(held, batch, index=index)
            assert [(row["event"], row["subscription"]) for row in answer.table.to_pylist()] == expected, index


def test_a_box_across_the_antimeridian_is_kept(tmp_path: Any) -> None:
    """Of one form with other boxes, one by one, in bulk, merged or loaded, each has its own meaning."""
    boxes = {"west": "170, 0, 175, 9", "both": "170, 0, -170, 9", "east": "-175, 0, -170, 9"}
    held = [{"id": name, "where": f"S_INTERSECTS(p, BBOX({box}))"} for name, box in boxes.items()]
    engine, bulk = tocsin.Engine(), tocsin.Engine()
    for one in held:
        engine.subscribe(one["id"], one["where"])
    bulk.subscribe_many(held)

    engines = [engine, bulk]
    for _ in range(2):
        for one in engines:
            for place, expected in (([172, 1], ["both", "west"]), ([-172, 1], ["both", "east"]), ([180, 1], ["both"])):
                assert [match.subscription for match in one.match({"p": place})] == expected
            one.merge()
        engine.save(tmp_path / "x")
        engines.append(tocsin.Engine.load(tmp_path / "x"))


@pytest.mark.parametrize("box", ["190, 0, 0, 1", "190, 0, -170, 1", "170, 1, -170, 0"])
def test_other_reversed_boxes_are_refused(box: str) -> None:
    """Off the globe, or upside down, a box with a minimum above its maximum is refused."""
    with pytest.raises(tocsin.ExpressionError, match="minimum above its maximum"):
        tocsin.parse(f"S_INTERSECTS(p, BBOX({box}))")


def test_an_engine_takes_and_keeps_them(tmp_path: Any) -> None:
    """One by one, in lists of objects, after merging, saved, and from a table with two columns as a point."""
    engine = tocsin.Engine()
    for number, shape in enumerate(SHAPES):
        engine.subscribe(number, f"S_INTERSECTS(p, {shape}) OR ANY(stops, S_WITHIN(at, {shape}))")
        assert number in [one.subscription for one in engine.match({"p": [2, 2]})] or number in (3, 5, 9, 12)
    event = {"p": [9, 9], "stops": [{"at": [8, 8]}, {"at": [2.5, 0.5]}]}
    expected = [one.subscription for one in engine.match(event)]
    assert expected == [0, 1]

    engine.merge()
    engine.save(tmp_path / "x")
    opened = tocsin.Engine.load(tmp_path / "x")
    assert [one.subscription for one in opened.match(event)] == expected
    table = pa.table({"lon": [2.5, 9.0], "lat": [0.5, 9.0]})
    found = opened.match_batch(table, points={"p": ("lon", "lat")}).table.to_pylist()
    assert [row["subscription"] for row in found if row["event"] == 0] == expected
    assert not [row for row in found if row["event"] == 1]


def test_many_polygons_answer_as_shapely_does() -> None:
    """A thousand triangles and circles, and points among them."""
    random = np.random.default_rng(5)
    centres, sides = random.uniform(0, 20, (1000, 2)), random.integers(3, 40, 1000)
    shapes = [shapely.Point(*at).buffer(1.0, quad_segs=int(side)) for at, side in zip(centres, sides, strict=True)]
    held = [{"id": number, "where": f"S_INTERSECTS(at, {shape.wkt})"} for number, shape in enumerate(shapes)]
    at = random.uniform(0, 20, (500, 2))

    answer = tocsin.match(held, [{"at": one} for one in at.tolist()])

    kept = [tocsin.parse(one["where"]).arguments[1].value.wkt for one in held]  # type: ignore[union-attr]
    event, shape = shapely.STRtree(shapely.from_wkt(kept)).query(shapely.points(at), predicate="intersects")
    found = {tuple(row.values()) for row in answer.table.to_pylist()}
    assert found == set(zip(event.tolist(), shape.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "S_INTERSECTS(p, POLYGON((0 0, 1 1, 1 0)))",
            "this is not a geometry: a ring is not closed; repeat its first",
        ),
        (
            "S_INTERSECTS(p, LINESTRING(0 0))",
            "this is not a geometry: a line needs at least two points, and a ring at least four",
        ),
        ("S_INTERSECTS(p, LINESTRING(0 0, 0 0))", "at least two different points, .* at 0 0"),
        ("S_INTERSECTS(p, POLYGON EMPTY)", "a geometry cannot be empty"),
        ("S_INTERSECTS(p, POLYGON((0 0, 2 2, 2 0, 0 2, 0 0)))", "this is not a geometry: it crosses itself at 1 1"),
        ("S_INTERSECTS(p, POLYGON((0 0, 1 1, x 0, 0 0)))", "this is not a geometry: expected number, found word: 'x'"),
        ("S_INTERSECTS(p, POLYGON())", "this is not a geometry"),
        ("S_INTERSECTS(p, POLYGON((0 0, 1 1", "expected"),
        ("S_WITHIN(p, 5)", "S_WITHIN needs an attribute, or a geometry"),
        ("S_WITHIN(p)", "S_WITHIN takes two arguments"),
        ("p = POLYGON((0 0, 1 1, 1 0, 0 0))", "a geometry is not allowed here"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    """With its reason."""
    with pytest.raises(tocsin.ExpressionError, match=reason):
        tocsin.parse(text)


def test_without_shapely_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points and boxes that intersect need none."""
    monkeypatch.setitem(sys.modules, "shapely", None)

    with pytest.raises(tocsin.UnsupportedError, match=r"pip install 'tocsin\[geo\]'"):
        tocsin.parse("S_INTERSECTS(p, POLYGON((0 0, 1 1, 1 0, 0 0)))")
    with pytest.raises(tocsin.UnsupportedError, match=r"pip install 'tocsin\[geo\]'"):
        tocsin.parse("S_TOUCHES(p, POINT(1 1))")
    assert len(tocsin.match([{"id": 1, "where": "S_DISJOINT(p, BBOX(0, 0, 1, 1))"}], [{"p": [2, 2]}])) == 1
    for event in ({}, {"p": None}, {"p": "nowhere"}, {"p": [1, 2, 3, 4, 5]}):
        assert tocsin.explain("S_INTERSECTS(p, BBOX(0, 0, 1, 1))", event).truth is None


@pytest.mark.parametrize(
    "text", ["S_NEAR(place, POINT(1 1))", "S_WITHIN(place, POLYGON((0 0, 1 1))", "S_WITHIN(place, BBOX(1, x))"]
)
def test_what_was_changed_on_disk_is_no_bare_error(text: str) -> None:
    """Names of attributes are texts in a file, and read when they are needed."""
    batch = encode_objects([(0, {"p": [1, 1]})], Wanted([as_condition("p", text, PLACED)]))

    with pytest.raises(tocsin.SegmentError, match="changed on disk"):
        with_places(batch, Wanted([as_condition("p", text, PLACED)]))


def test_what_no_place_came_for_is_told() -> None:
    """A place that is text, and one that no event has."""
    held = [{"id": n, "where": f"S_WITHIN({name}, {SHAPES[0]})"} for n, name in enumerate(["city", "plce", "p"])]

    told = tocsin.match(held, [{"city": "Oslo", "p": [1, 1]}]).warnings

    assert [notice.reason for notice in told] == [
        "every city that came is a text, never a geometry",
        "no event has plce",
    ]


@pytest.mark.parametrize(
    ("with_z", "without"),
    [
        ("S_INTERSECTS(p, POINT(1 2 9))", "S_INTERSECTS(p, POINT(1 2))"),
        ("S_INTERSECTS(p, POINT Z (1 2 9))", "S_INTERSECTS(p, POINT(1 2))"),
        ("S_INTERSECTS(p, BBOX(0, 1, -9, 4, 5, 9))", "S_INTERSECTS(p, BBOX(0, 1, 4, 5))"),
        ("S_WITHIN(p, POLYGON Z ((0 0 1, 4 0 1, 4 4 1, 0 0 1)))", "S_WITHIN(p, POLYGON((0 0, 4 0, 4 4, 0 0)))"),
        ("S_WITHIN(p, linestring z(0 0 1, 4 0 1))", "S_WITHIN(p, LINESTRING(0 0, 4 0))"),
    ],
)
def test_a_third_coordinate_is_read_and_ignored(with_z: str, without: str) -> None:
    """In text, in JSON, and in events."""
    assert tocsin.parse(with_z) == tocsin.parse(without)
    event = {"p": {"type": "Point", "coordinates": [1, 2, 9]}}
    for source in ([event], json.dumps(event).encode()):
        found = tocsin.match([{"id": 1, "where": "S_INTERSECTS(p, POINT(1 2))"}], source)
        assert len(found) == 1
    tree = {"op": "s_intersects", "args": [{"property": "p"}, {"bbox": [0, 1, -9, 4, 5, 9]}]}
    assert tocsin.parse_json(tree) == tocsin.parse("S_INTERSECTS(p, BBOX(0, 1, 4, 5))")
