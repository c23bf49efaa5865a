"""No placement loses a match, or reports one twice: the parts that an event visits answer as one process does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
import tocsin.errors
from tests import strategies as own
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.index import Part, choose
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.elements import with_conditions
from tocsin.language import Templates
from tocsin.placement import PLACEMENTS, Placement, Router, keys_of_partitions, planned, report_of
from tocsin.records import chunk_of
from tocsin.segment import SegmentBuilder, assemble


def part_of(texts: list[str]) -> Part:
    builder = SegmentBuilder()
    records = [{"id": f"s{number:03d}", "where": text} for number, text in enumerate(texts)]
    builder.add(chunk_of(enumerate(records), Templates(), []))
    return builder.part()


def batch_of(part: Part, events: list[dict[str, Any]]) -> EventBatch:
    wanted = Wanted(part.compiled.attributes)
    return with_conditions(encode_objects(list(enumerate(events)), wanted), wanted)


def matches(part: Part, batch: EventBatch) -> set[tuple[int, str]]:
    found = assemble(part, choose()).matcher
    ids = part.ids.to_pylist()
    answer = ExtentMatching().match(found, batch)
    pairs = zip(answer.events.tolist(), answer.subscriptions.tolist(), strict=True)
    return {(event, ids[number]) for event, number in pairs}


def routed(placement: Placement, part: Part, batch: EventBatch) -> tuple[set[tuple[int, str]], int]:
    """What the visited partitions find, and how many partitions events visited."""
    assignment = placement.assign(part)
    visits = Router.of(placement, keys_of_partitions(assignment, placement)).visits(batch)
    found: set[tuple[int, str]] = set()
    for partition in range(placement.count):
        members = np.unique(assignment.owners[assignment.partitions == partition])
        events = np.flatnonzero(visits[:, partition])
        if len(members) and len(events):
            own_matches = matches(part.only(members), batch.only(events))
            found |= {(int(events[event]), name) for event, name in own_matches}
    assert len(np.unique(assignment.owners)) == len(part)
    return found, int(visits.sum())


@pytest.mark.parametrize("name", PLACEMENTS)
@given(
    trees=st.lists(st.one_of(own.expressions(max_depth=3), own.region_expressions()), min_size=1, max_size=12),
    events=st.lists(st.one_of(own.python_events(), own.region_events()), min_size=1, max_size=12),
    partitions=st.sampled_from([1, 2, 7, 16]),
)
def test_the_partitions_that_an_event_visits_hold_all_its_matches(name, trees, events, partitions):
    part = part_of([tocsin.to_text(tree) for tree in trees])
    batch = batch_of(part, events)

    placement, _ = planned(part, name, partitions)
    found, _ = routed(placement, part, batch)

    assert found == matches(part, batch)


@pytest.mark.parametrize("name", PLACEMENTS)
@given(
    trees=st.lists(own.region_expressions(), min_size=2, max_size=12),
    others=st.lists(own.region_expressions(), min_size=1, max_size=6),
    events=st.lists(own.region_events(), min_size=1, max_size=12),
)
def test_a_placement_made_for_others_loses_nothing(name, trees, others, events):
    """Statistics and subscriptions of other data make a worse placement, and the same answer."""
    part, other = part_of(list(map(tocsin.to_text, trees))), part_of(list(map(tocsin.to_text, others)))
    batch = batch_of(part, events)
    statistics = tocsin.Statistics({"words": 0.001, "a": 0.9, "nobody's": 1.0}, "given")

    placement, _ = planned(other, name, 5, statistics)
    found, _ = routed(placement, part, batch)

    assert found == matches(part, batch)


WORDS = [f"w{number}" for number in range(40)]
MAP = [
    f"S_INTERSECTS(place, BBOX({x}, {y}, {x}.5, {y}.5)) AND A_CONTAINS(words, ('{WORDS[x]}', '{WORDS[20 + y]}'))"
    for x in range(20)
    for y in range(20)
]
VALUES = [f"carrier = 'c{number % 7}' AND tail = 't{number}' AND delay > {number}" for number in range(200)]


@pytest.mark.parametrize(
    ("name", "texts", "copies", "visits"),
    [
        ("hash", MAP, 1.0, 8.0),
        ("location", MAP, 1.3, 1.5),
        ("keyword", MAP, 2.0, 5.5),
        ("prefix", MAP, 1.0, 4.5),
        ("access", VALUES, 1.0, 1.5),
    ],
)
def test_events_visit_few_partitions(name: str, texts: list[str], copies: float, visits: float) -> None:
    """Of 8: one by a place or a rare value, a few by keywords; copies only where a placement needs them."""
    part = part_of(texts)
    events = [
        {
            "place": [number % 19 + 0.7, number % 17 + 0.3],
            "words": [WORDS[number % 40], WORDS[number * 7 % 40], WORDS[number * 3 % 40]],
            "carrier": f"c{number % 9}",
            "tail": f"t{number}",
            "delay": number,
        }
        for number in range(100)
    ]
    batch = batch_of(part, events)

    placement, report = planned(part, name, 8, tocsin.sample(events), [batch])
    found, visited = routed(placement, part, batch)

    assert found == matches(part, batch)
    assert report.copies <= copies + 1e-9
    assert report.visits is not None
    assert report.visits <= visits
    assert visited / len(batch) >= report.visits
    assert report.balance < 2


def test_a_key_that_half_of_all_ask_for_is_split() -> None:
    """By the hash of the id; events that have it visit the partitions that share it."""
    part = part_of(["kind = 'usual'"] * 300 + [f"kind = 'k{number}'" for number in range(300)])

    _, report = planned(part, "access", 6)

    assert report.split == 3
    assert report.largest < 0.25


@pytest.mark.parametrize("name", ["location", "keyword", "prefix", "access"])
@pytest.mark.parametrize(
    "usual",
    [
        "A_CONTAINS(words, ('w1', 'w2')) AND S_INTERSECTS(place, BBOX(3, 3, 3.5, 3.5))",
        "A_CONTAINS(words, ('w1','w2','w3','w4','w5','w6','w7')) AND S_INTERSECTS(place, BBOX(3, 3, 3, 3))",
    ],
)
def test_half_of_all_are_equal(name: str, usual: str) -> None:
    """They are split, or lie on several partitions that every event visits: none has half of all, and none is lost."""
    part = part_of([usual] * 400 + MAP)
    batch = batch_of(part, [{"place": [3, 3], "words": WORDS}, {"place": [9.2, 4.1], "words": WORDS[:3]}])

    placement, report = planned(part, name, 8)
    found, _ = routed(placement, part, batch)

    assert found == matches(part, batch)
    assert report.largest < 0.3
    assert not any("one partition holds half" in line for line in report.lines())


def test_one_that_cannot_be_split_is_told() -> None:
    """A key that is not known by name goes by its hash; where one partition has half of all, the report says so."""
    part = part_of(["kind = 'usual'"] * 300 + [f"kind = 'k{number}'" for number in range(300)])
    placement, _ = planned(part_of([f"kind = 'k{number}'" for number in range(9)]), "access", 6)

    report = report_of(placement, part)

    assert report.largest >= 0.5
    assert any("one partition holds half" in line for line in report.lines())


def test_what_has_no_key_lies_where_every_event_comes() -> None:
    part = part_of(["a IS NULL", "a = 1 OR b IS NULL", "a = 1"])

    placement, report = planned(part, "access", 2)

    assert report.unplaced == pytest.approx(2 / 3)
    assert set(placement.assign(part).partitions[:2].tolist()) <= {2, 3}


def test_a_placement_that_there_is_not() -> None:
    part = part_of(["a = 1"])
    with pytest.raises(tocsin.errors.InvalidInput, match="placement is 'nowhere'; it must be one of hash, location"):
        planned(part, "nowhere")
    with pytest.raises(tocsin.errors.InvalidInput, match="partitions is 0; it must be at least 1"):
        planned(part, "hash", 0)


@pytest.mark.parametrize(
    ("texts", "chosen"), [(MAP, "location"), (VALUES, "access"), (["a IS NULL", "b > 1", "b < 4"] * 9, "hash")]
)
def test_auto_asks_an_event_least(texts: list[str], chosen: str) -> None:
    """As far as events tell; without events, by how many have the keys of each partition."""
    part = part_of(texts)
    events = [{"place": [3.2, 4.2], "tail": "t3", "carrier": "c3", "delay": 9, "b": 2, "words": WORDS}]

    with_events = planned(part, "auto", 4, tocsin.sample(events), [batch_of(part, events)])
    assert with_events.placement.name == chosen
    if chosen == "access":
        assert planned(part, "auto", 4, tocsin.sample(events)).placement.name == chosen


@pytest.mark.parametrize("name", PLACEMENTS)
@pytest.mark.parametrize("west", [150, 179.5, 180])
def test_boxes_across_the_antimeridian_are_in_the_partitions_of_both_sides(name: str, west: float) -> None:
    """Also one whose west edge is the antimeridian, so that it has a line alone on that side."""
    part = part_of([f"S_INTERSECTS(p, BBOX({west}, 0, {east}, 9))" for east in (-170, -9, 12)] * 4)
    others = part_of(
        [f"S_INTERSECTS(p, BBOX({x}, {y}, {x + 3}, {y + 3}))" for x in range(-180, 170, 20) for y in (-20, 5)]
    )
    batch = batch_of(part, [{"p": [x, 5]} for x in (-180, -175, -10, 2, 60, 160, 179.75, 180)])
    placement, _ = planned(others, name, 8)
    found, _ = routed(placement, part, batch)

    assert found == matches(part, batch) and len(found) > 20
