"""Polygons and circles are found by the leaves that the boxes around them meet: no match is lost, none is decided."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import tocsin
from tests.placement.test_placements import batch_of, matches, part_of, routed
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.model.readings import reading_of
from tocsin.placement import PLACEMENTS, Router, keys_of_partitions, planned
from tocsin.placement.regions import divided, leaves_of_regions, leaves_under

DICE = random.Random(20)
CENTRES = [(DICE.uniform(-180, 180), DICE.uniform(-90, 90)) for _ in range(40)]
EDGES = [(180.0, 3.0), (-180.0, -41.0), (179.9, 66.0), (-179.95, 89.2), (30.0, 90.0), (-75.0, -89.9), (0.0, 0.0)]


def polygon(x: float, y: float, reach: float) -> str:
    corners = [(x + reach * math.cos(turn), y + reach * math.sin(turn)) for turn in (0.3, 1.4, 2.9, 4.0, 5.5)]
    return "POLYGON((" + ", ".join(f"{one:.6f} {other:.6f}" for one, other in [*corners, corners[0]]) + "))"


def circle(x: float, y: float, metres: float) -> str:
    return f"DISTANCE_M(place, POINT({x:.6f} {y:.6f})) <= {metres:.1f}"


SHAPES = [
    *(f"S_INTERSECTS(place, {polygon(x, y, DICE.uniform(0.5, 9))})" for x, y in CENTRES),
    *(f"S_WITHIN(place, {polygon(x, y, 3)}) AND kind = 'a'" for x, y in CENTRES[:9]),
    *(f"NOT S_INTERSECTS(place, {polygon(x, y, 9)})" for x, y in CENTRES[:4]),
    *(circle(x, y, DICE.choice([10.0, 90_000.0, 900_000.0])) for x, y in (*CENTRES, *EDGES)),
    *(circle(x, y, 400_000.0).replace("<=", "<") + " AND kind = 'b'" for x, y in EDGES),
    *(f"NOT {circle(x, y, 400_000.0)}" for x, y in EDGES[:3]),
    *(circle(x, y, 19_000_000.0).replace("<=", ">") for x, y in EDGES),
    "DISTANCE_M(place, POINT(0 0)) <= 30000000",
    f"{circle(180, 3, 9e4)} OR S_TOUCHES(place, {polygon(0, 0, 5)})",
    f"{circle(180, 3, 9e5)} AND S_INTERSECTS(place, BBOX(-180, -9, -170, 9))",
]
AROUND = [(x + DICE.uniform(-4, 4), y + DICE.uniform(-4, 4)) for x, y in (*CENTRES, *EDGES) for _ in range(3)]
EVENTS = [
    {"place": [(x + 180) % 360 - 180, max(min(y, 90.0), -90.0)], "kind": "ab"[number % 2]}
    for number, (x, y) in enumerate([*AROUND, *EDGES, *((-x, y) for x, y in EDGES)])
] + [
    {"place": {"type": "LineString", "coordinates": [[170, 0], [179, 5]]}, "kind": "b"},
    {"place": [181.0, 3.0], "kind": "a"},
    {"place": "nowhere"},
    {},
]


@pytest.mark.parametrize("partitions", [1, 2, 7, 16])
@pytest.mark.parametrize("name", PLACEMENTS)
def test_polygons_and_circles_are_all_found(name: str, partitions: int) -> None:
    """Across the antimeridian, at the poles, under NOT: as one process finds them."""
    part = part_of(SHAPES)
    batch = batch_of(part, EVENTS)

    placement, _ = planned(part, name, partitions)
    found, _ = routed(placement, part, batch)

    assert found == matches(part, batch)
    assert len(found) > 400


def test_by_location_nobody_decides_shapes_before_events_are_sent() -> None:
    """The same partitions are visited by events of which nothing is known but where they are."""
    part = part_of(SHAPES)
    placement, report = planned(part, "location", 7)
    assignment = placement.assign(part)
    router = Router.of(placement, keys_of_partitions(assignment, placement))
    places = [name for name in part.compiled.attributes if reading_of(name).is_of_place]

    plain = encode_objects(list(enumerate(EVENTS)), Wanted(["place", "kind"]))

    assert np.array_equal(router.visits(plain), router.visits(batch_of(part, EVENTS)))
    assert len(places) > 80
    assert not router.leads(places).any()
    assert not router.leads([]).any()
    assert report.decided == 0


def test_by_access_conditions_lead_to_parts() -> None:
    """These are decided before, which the report tells, and `auto` weighs."""
    part = part_of(SHAPES[:40])
    placement, report = planned(part, "access", 4)
    router = Router.of(placement, keys_of_partitions(placement.assign(part), placement))

    assert router.leads(part.compiled.attributes).sum() == 40
    assert not router.leads(["place", "kind"]).any()
    assert report.decided == 1.0
    assert any("evaluated before the shuffle: 100.0%" in line for line in report.lines())


@pytest.mark.parametrize("of", ["polygons", "circles"])
def test_auto_finds_shapes_by_location(of: str) -> None:
    dice = random.Random(1)
    centres = [(dice.uniform(-170, 170), dice.uniform(-80, 80)) for _ in range(200)]
    part = part_of(
        [f"S_INTERSECTS(place, {polygon(*one, 1)})" if of == "polygons" else circle(*one, 9e4) for one in centres]
    )
    events = [{"place": [dice.uniform(-170, 170), dice.uniform(-80, 80)]} for _ in range(100)]

    placement, report = planned(part, "auto", 8, tocsin.sample(events), [batch_of(part, events)])

    assert placement.name == planned(part, "auto", 8).placement.name == "location"
    assert report.visits == pytest.approx(1)
    assert report.unplaced == 0
    assert report.copies < 1.2


def test_a_box_beyond_180_degrees_lies_on_both_sides() -> None:
    """A circle on the antimeridian lies in the leaves of two boxes, and in each once."""
    splits = divided(np.array([[x, y, x, y] for x in range(-180, 181, 9) for y in range(-90, 91, 9)], float), 64)
    both = np.array([[170.0, -5.0, 190.0, 5.0], [-10.0, -90.0, 350.0, 90.0]])

    found = leaves_of_regions(splits, both)

    east, west = (leaves_under(splits, np.array([box])).leaves for box in ([170.0, -5, 180, 5], [-180.0, -5, -170, 5]))
    assert sorted(found.leaves[found.owners == 0].tolist()) == sorted({*east.tolist(), *west.tolist()})
    assert sorted(found.leaves[found.owners == 1].tolist()) == list(range(64))
    assert (np.diff(found.owners) >= 0).all()


@pytest.mark.parametrize("placement", sorted(PLACEMENTS))
def test_more_terms_than_attributes_beside_shapes(placement):
    """A comparison of terms has the number of a term where other leaves have that of an attribute."""
    area = "S_INTERSECTS(at, POLYGON(({0} 0, {1} 0, {0} 2, {0} 0))) AND a - b > {0} AND a + {0} * b > 2"
    planned(part_of([area.format(i, i + 2) for i in range(24)]), placement, 2)
