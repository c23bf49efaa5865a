"""Regions: each geometry that a condition names, once, with its circle or box; pages and boxes leave nothing out."""

from __future__ import annotations

import math
from typing import Any

import pytest
import shapely

from tests.service.served import Served
from tocsin.language import parse_any
from tocsin.service.regions import meet, regions_of

SQUARE = "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))"


def found(server: Served, **asked: Any) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = []
    while True:
        answer = server.client.get("/v1/regions", params=asked)
        assert answer.status_code == 200, answer.text
        document = answer.json()
        every += document["regions"]
        if "next" not in document:
            return every
        asked["after"] = document["next"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (f"S_INTERSECTS(place, {SQUARE}) AND n = 1", [("place", "S_INTERSECTS", False, "Polygon", None)]),
        ("S_INTERSECTS(BBOX(0, 0, 1, 1), a.b)", [("a.b", "S_INTERSECTS", False, "Polygon", None)]),
        ("S_WITHIN(place, BBOX(170, 0, -170, 5))", [("place", "S_WITHIN", False, "MultiPolygon", None)]),
        ("S_DISJOINT(place, POINT(1 2))", [("place", "S_DISJOINT", True, "Point", None)]),
        ("NOT S_DISJOINT(place, POINT(1 2))", [("place", "S_DISJOINT", False, "Point", None)]),
        ("DISTANCE_M(place, POINT(1 2)) <= 500", [("place", "DISTANCE_M", False, "Point", 500.0)]),
        ("500 < DISTANCE_M(POINT(1 2), place)", [("place", "DISTANCE_M", True, "Point", 500.0)]),
        (
            f"NOT (DISTANCE_M(a, POINT(1 2)) < 5 OR NOT S_WITHIN(b, {SQUARE}))",
            [("a", "DISTANCE_M", True, "Point", 5.0), ("b", "S_WITHIN", False, "Polygon", None)],
        ),
        ("S_INTERSECTS(a, b)", []),
        ("S_INTERSECTS = 1 AND n = 2", []),
    ],
)
def test_a_condition_has_the_regions_that_it_names(where: str, expected: list[tuple[Any, ...]]) -> None:
    told = [
        (one.attribute, one.operator, one.is_not, one.geometry["type"], one.radius_m)
        for one in regions_of(parse_any(where))
    ]

    assert told == expected


@pytest.mark.parametrize(("x", "y", "metres"), [(1, 2, 5e3), (179.9, 60, 1e5), (-179.5, -70, 2e5), (0, 89.5, 1e5)])
def test_the_box_around_a_circle_holds_it(x: float, y: float, metres: float) -> None:
    (one,) = regions_of(parse_any(f"DISTANCE_M(a, POINT({x} {y})) <= {metres}"))
    angle = metres / 6_371_008.8
    for turn in range(0, 360, 5):
        a, lat = math.radians(turn), math.radians(y)
        up = math.asin(math.sin(lat) * math.cos(angle) + math.cos(lat) * math.sin(angle) * math.cos(a))
        east = math.atan2(math.sin(a) * math.sin(angle) * math.cos(lat), math.cos(angle) - math.sin(lat) * math.sin(up))
        lon = (x + math.degrees(east) + 180) % 360 - 180
        point = (lon, math.degrees(up))
        near = (lon - 1e-3, point[1] - 1e-3, lon + 1e-3, point[1] + 1e-3)
        assert meet(one.bounds, near), (turn, point, one.bounds)


def test_a_box_finds_what_meets_it_and_nothing_else(server: Served) -> None:
    server.destination()
    for x in range(-180, 180, 30):
        where = f"S_INTERSECTS(place, POLYGON(({x} 0, {x + 20} 0, {x + 20} 10, {x} 0)))"
        server.subscribe(f"p{x:+04}", where, **({"destination": "d"} if x < 0 else {}))
    server.subscribe("fiji", "S_INTERSECTS(place, BBOX(175, -20, -175, -10))")
    json_form = {"op": "s_intersects", "args": [{"property": "place"}, {"type": "Point", "coordinates": [1, 2]}]}
    server.client.put("/v1/subscriptions/json", json={"where": json_form})
    rule = {"geo_distance": {"distance": "1km", "place": {"lat": 2, "lon": 1}}}
    answer = server.client.put("/v1/subscriptions/rule", json={"where": rule, "language": "elasticsearch"})
    assert answer.is_success, answer.text
    server.subscribe("none", "n = 1")

    everything = found(server)
    assert len(everything) == 15 and found(server, limit=3) == everything
    for box in ("-10,-5,5,3", "170,-30,-170,-5", "0,0,0,0", "-180,-90,180,90", "100,50,120,60"):
        west, south, east, north = map(float, box.split(","))
        sides = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
        asked = shapely.union_all([shapely.box(left, south, right, north) for left, right in sides])
        expected = [
            one["id"] for one in everything
            if shapely.box(*shapely.geometry.shape(one["geometry"]).bounds).intersects(asked)
            and (one["id"] != "fiji" or shapely.geometry.shape(one["geometry"]).intersects(asked))
        ]  # fmt: skip
        assert [one["id"] for one in found(server, box=box)] == expected, box
    assert {one["destination"] for one in found(server, destination="d")} == {"d"}


@pytest.mark.parametrize("box", ["1,2,3", "a,b,c,d", "0,5,1,4", "nan,0,1,1", "0,0,inf,1", ""])
def test_a_wrong_box_says_what_is_right(server: Served, box: str) -> None:
    answer = server.client.get("/v1/regions", params={"box": box})

    assert answer.status_code == 400 and "west,south,east,north" in answer.json()["detail"]
