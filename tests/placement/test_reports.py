"""What a placement costs is told beforehand: how evenly events come, too."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin
from tests.placement.test_placements import MAP, WORDS, batch_of, part_of
from tocsin.placement import PlacementReport, Router, keys_of_partitions, planned
from tocsin.placement.regions import shares_of_leaves

CROWD = [
    {"place": [10.1 + number % 7 / 1e3, 4.2], "words": [WORDS[number * step % 40] for step in (1, 3, 7)]}
    for number in range(200)
]
"""All at one spot, with words of all kinds."""
SPREAD = [{**event, "place": [number % 20 + 0.2, number * 11 // 7 % 20 + 0.2]} for number, event in enumerate(CROWD)]


def report(name: str, events: list[dict[str, Any]], **options: Any) -> PlacementReport:
    part = part_of(MAP)
    return planned(part, name, 8, tocsin.sample(events), [batch_of(part, events)], **options).report


def test_a_partition_that_every_event_visits_is_told() -> None:
    """Where all events are at one spot the map's partitions are as large, and one of them gets all events."""
    told = report("location", CROWD)

    assert told.balance < 1.2
    assert (told.visits, told.busiest, told.busiest_share) == (1.0, 8.0, 1.0)
    assert "  busiest partition / mean partition: 8.00; it gets 100.0% of events" in told.lines()
    assert any("one partition gets most events" in line for line in told.lines())


def test_events_that_come_evenly_are_no_crowd() -> None:
    told = report("location", SPREAD)
    hashed = report("hash", CROWD)

    assert told.busiest is not None
    assert told.busiest < 1.6
    assert (hashed.busiest, hashed.busiest_share) == (1.0, 1.0)
    assert not any("crowd" in line for line in (*told.lines(), *hashed.lines()))


def test_a_few_events_are_no_crowd() -> None:
    """One event comes to one partition; that says nothing of how even they are."""
    assert not report("location", CROWD[:9]).is_uneven


def test_without_events_nothing_is_said_of_them() -> None:
    told = planned(part_of(MAP), "location", 8).report

    assert (told.busiest, told.busiest_share, told.slowest) == (None, None, None)
    assert not any("busiest" in line for line in told.lines())


@pytest.mark.parametrize("events", [CROWD, SPREAD])
def test_where_events_come_on_the_map_is_known_by_their_histogram(events: list[dict[str, Any]]) -> None:
    """Each leaf gets the share that a count says; a few places lie in a cell that is split between leaves."""
    part, known = part_of(MAP), tocsin.sample(events)
    placement = planned(part, "location", 8, known).placement
    keys = keys_of_partitions(placement.assign(part), placement)
    visits = Router.of(placement, keys).visits(batch_of(part, events)).mean(axis=0)

    shares = shares_of_leaves(placement.splits, placement.places, known)

    assert shares is not None
    assert [shares.of(own) for own in keys[:8] if own is not None] == pytest.approx(visits[:8].tolist(), abs=0.03)
    assert shares_of_leaves(placement.splits, placement.places, None) is None
    assert shares_of_leaves(placement.splits, ("place", "kind"), known) is None
    assert shares_of_leaves(placement.splits, (), known) is None


@pytest.mark.parametrize(("events", "chosen"), [(CROWD, "prefix"), (SPREAD, "location")])
def test_a_histogram_says_without_events_whether_all_wait_for_one_partition(
    events: list[dict[str, Any]], chosen: str
) -> None:
    part, known = part_of(MAP), tocsin.sample(events)

    assert planned(part, "auto", 8, known, is_shuffled=lambda one: True).placement.name == chosen


@pytest.mark.parametrize(("events", "chosen"), [(CROWD, "prefix"), (SPREAD, "location")])
def test_auto_goes_by_the_busiest_partition_where_events_are_sent(events: list[dict[str, Any]], chosen: str) -> None:
    """All wait for it; in one process the sum is what counts."""
    assert report("auto", events).name == "location"
    assert report("auto", events, is_shuffled=lambda one: True).name == chosen
