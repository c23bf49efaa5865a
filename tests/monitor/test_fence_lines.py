"""Lines between the places of an object, and what they cross; who is lost has no last place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.monitor.fence_samples import drive, engine_of, events, told

CROSSED = {
    "thin": "S_INTERSECTS(location, BBOX(1.2, 0, 1.8, 9))",
    "triangle": "S_INTERSECTS(location, POLYGON((2.5 0, 4.5 0, 4.5 9, 2.5 0)))",
    "slow": "S_INTERSECTS(location, BBOX(1.2, 0, 1.8, 9)) AND NOT speed > 5",
    "stops": "S_INTERSECTS(location, BBOX(1.2, 0, 1.8, 9)) AND ANY(stops, n > 1)",
    "far": "S_INTERSECTS(location, BBOX(0, 20, 9, 30))",
}


def crossed_by_looking_back(drawn: list[dict[str, Any]]) -> list[tuple[int, Any, str]]:
    """Of each event whose line from the one before meets a fence that the object was in with neither.

    An event of which a fence is UNKNOWN leaves the object in it, or out of it.
    """
    engine, found = engine_of(CROSSED), []
    inside: dict[Any, set[str]] = {}
    for number, event in enumerate(drawn):
        then = set(inside.setdefault(event["vehicle"], set()))
        for zone, where in CROSSED.items():
            truth = tocsin.explain(where, event).truth
            if truth is not None:
                (set.add if truth else set.discard)(inside[event["vehicle"]], zone)
        before = [one for one in drawn[:number] if one["vehicle"] == event["vehicle"]]
        if not before or before[-1]["location"] == event["location"]:
            continue
        line = {"type": "LineString", "coordinates": [before[-1]["location"], event["location"]]}
        through, now = ({one.subscription for one in engine.match(at)} for at in ({**event, "location": line}, event))
        found += [(number, event["vehicle"], one) for one in sorted(through - now - then)]
    return found


@given(
    st.lists(
        st.fixed_dictionaries(
            {"vehicle": st.integers(0, 2), "location": st.tuples(st.integers(0, 5), st.integers(3, 6)).map(list)},
            optional={"speed": st.integers(4, 7), "stops": st.just([{"n": 2}])},
        ),
        max_size=20,
    ),
    st.data(),
)
def test_what_is_crossed_is_what_the_way_leads_through(drawn, data):
    """One call or several, in every form of events; saved and loaded in between."""
    engine = engine_of(CROSSED)
    fences = tocsin.Fences(engine, key="vehicle", path="location")
    found: list[tuple[Any, ...]] = []
    at = 0
    while at < len(drawn):
        part = drawn[at : at + data.draw(st.integers(1, 8))]
        if len(part) == 1:
            found += [(at, one.object, one.subscription) for one in fences.push(part[0]) if one.change == "cross"]
        else:
            lines = "".join(json.dumps(one) + "\n" for one in part).encode()
            rows = fences.push_batch(data.draw(st.sampled_from([part, lines])))
            found += [(at + r["event"], r["object"], r["subscription"]) for r in rows if r["change"] == "cross"]
        at += len(part)

    assert found == crossed_by_looking_back(drawn)
    assert len(fences) == len({one["vehicle"] for one in drawn})


def test_a_way_across_the_antimeridian_is_the_short_one(tmp_path: Path):
    """A ship from 179 to -179 passes the date line, and not Africa; saved and loaded in between."""
    engine = engine_of(
        {
            "line": "S_INTERSECTS(at, BBOX(-179.9, -9, -179.8, 9))",
            "before": "S_INTERSECTS(at, BBOX(179.8, -9, 179.9, 9))",
            "africa": "S_INTERSECTS(at, BBOX(0, -9, 30, 9))",
        }
    )
    fences = tocsin.Fences(engine, key="ship", path="at")
    fences.push({"ship": "a", "at": [179, 0]})
    fences.save(tmp_path / "f.jsonl")

    fences = tocsin.Fences.load(tmp_path / "f.jsonl", engine)
    changes = fences.push({"ship": "a", "at": [-179, 1]})

    assert [(one.subscription, one.change) for one in changes] == [("before", "cross"), ("line", "cross")]


def test_where_an_object_was_is_kept_within_bounds():
    """Those longest unseen are given up, and their next way is not known."""
    fences = tocsin.Fences(engine_of(CROSSED), key="vehicle", path="location", most_objects=2)
    for vehicle in range(3):
        fences.push_batch(drive(1, vehicle=vehicle))

    assert len(fences) == 2
    found = told(fences.push_batch([*drive(2, vehicle=2), *drive(2, vehicle=0)]))
    assert found == [(0, 2, "thin", "cross")]


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(
    events=events, limit=st.sampled_from([1, 2, 10**6]), after=st.sampled_from([None, 3, 10]), cut=st.integers(0, 25)
)
def test_who_is_lost_has_no_last_place(events: Any, limit: int, after: Any, cut: int) -> None:
    """One by one, in one batch and in two the same is told, with ways and with objects that are given up."""
    events = [
        {key: value for key, value in event.items() if key != "location" or number % 5}
        for number, event in enumerate(events)
    ]
    options: dict[str, Any] = {"key": "vehicle", "time": "t", "path": "location", "most_objects": limit}
    told_by = []
    for parts in ([[event] for event in events], [events], [events[:cut], events[cut:]]):
        fences, first, found = tocsin.Fences(engine_of(), forget_after=after, **options), 0, []
        for part in parts:
            found += [(first + row, *rest) for row, *rest in told(fences.push_batch(part))]
            first += len(part)
        told_by.append(found)

    assert told_by[0] == told_by[1] == told_by[2]
    lost = {one[:3] for one in told_by[0] if one[3] == "lost"}
    assert not lost & {one[:3] for one in told_by[0] if one[3] == "cross"}
