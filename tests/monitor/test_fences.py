"""Objects that enter, dwell in, leave and are lost: held against an oracle that looks back over all events."""

from __future__ import annotations

import datetime as dt
import json
import threading
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.monitor.fence_samples import ZONES, drive, engine_of, events, told
from tests.naive import fences as naive


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(events, st.integers(1, 3), st.integers(1, 3), st.none() | st.integers(0, 20), st.booleans(), st.data())
def test_what_changes_is_what_the_oracle_says(drawn, enter_after, exit_after, dwell, inside, data):
    """One call or several, events one by one or in batches, saved and loaded in between."""
    engine = engine_of()
    if data.draw(st.booleans()):
        engine.merge()  # of a segment types may tell what is known
    fences = tocsin.Fences(
        engine, key="vehicle", time="t", enter_after=enter_after, exit_after=exit_after, dwell=dwell, inside=inside
    )
    found: list[tuple[Any, ...]] = []
    at = 0
    while at < len(drawn):
        size = data.draw(st.integers(1, 8))
        part = drawn[at : at + size]
        if size == 1:
            found += [(at, *change) for change in fences.push(part[0])]
        else:
            rows = fences.push_batch(part)
            found += [(at + r["event"], r["object"], r["subscription"], r["change"], r["seconds"]) for r in rows]
        at += size
    expected = []
    for vehicle in {event["vehicle"] for event in drawn}:
        whole = naive.in_time([(number, event) for number, event in enumerate(drawn) if event["vehicle"] == vehicle])
        for zone, where in ZONES.items():
            truths = [tocsin.explain(where, event).truth for _, event in whole]
            warnings_of = [(event, truth) for event, truth in zip(whole, truths, strict=True) if truth is not None]
            numbers = [number for (number, _), _ in warnings_of]
            own = naive.changes(
                [bool(truth) for _, truth in warnings_of],
                [event.get("t") for (_, event), _ in warnings_of],
                enter_after=enter_after,
                exit_after=exit_after,
                dwell=dwell,
                inside=inside,
            )
            expected += [(numbers[event], vehicle, zone, change, seconds) for event, change, seconds in own]

    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert [one[0] for one in found] == sorted(one[0] for one in found)


def test_a_drive_through():
    """Exits first, then what is entered, by subscription."""
    fences = tocsin.Fences(engine_of(), key="vehicle")

    answer = fences.push_batch(drive(-1, 2, 3.5, 5, 9))

    assert told(answer) == [
        (0, 1, "all", "enter"),
        (1, 1, "left", "enter"),
        (2, 1, "middle", "enter"),
        (3, 1, "left", "exit"),
        (4, 1, "middle", "exit"),
    ]
    assert answer.table.schema.names == ["event", "object", "subscription", "change", "seconds"]
    assert fences.inside(1) == ["all"]
    assert list(fences.objects()) == [(1, ["all"])]
    assert len(fences) == 1


@pytest.mark.parametrize("form", ["dicts", "Arrow", "JSON lines"])
def test_every_form_of_events(form):
    """Times as numbers, instants and texts; keys as texts; nested ones, too."""
    start = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
    rows = [{"of": {"id": f"v{n % 2}"}, "x": float(n), "t": (start + dt.timedelta(seconds=30 * n))} for n in range(6)]
    texts = [{**row, "t": row["t"].isoformat()} for row in rows]
    source = {
        "dicts": rows,
        "Arrow": pa.Table.from_pylist(rows),
        "JSON lines": "\n".join(map(json.dumps, texts)).encode(),
    }[form]
    fences = tocsin.Fences(engine_of({"far": "x >= 2"}), key="of.id", time="t", dwell=60)

    answer = fences.push_batch(source)

    assert [(r["event"], r["object"], r["change"], r["seconds"]) for r in answer] == [
        (2, "v0", "enter", 0.0),
        (3, "v1", "enter", 0.0),
        (4, "v0", "dwell", 60.0),
        (5, "v1", "dwell", 60.0),
    ]


def test_bad_events_change_nothing_and_are_reported():
    """One without a key, one that cannot be read; the rest is served."""
    fences = tocsin.Fences(engine_of(), key="vehicle")

    answer = fences.push_batch([{"location": [1, 1]}, *drive(1), "odd", {"vehicle": None}, *drive(9)])  # type: ignore[list-item]

    assert [(reject.row, reject.field) for reject in answer.event_errors] == [(0, "vehicle"), (2, ""), (3, "vehicle")]
    assert told(answer) == [(1, 1, "all", "enter"), (1, 1, "left", "enter"), (4, 1, "left", "exit")]
    with pytest.raises(tocsin.RecordError, match="no value of 'vehicle'"):
        fences.push({"location": [1, 1]})
    with pytest.raises(tocsin.RecordError, match="an event is an object"):
        fences.push([1])  # type: ignore[arg-type]
    with pytest.raises(tocsin.RecordError):
        fences.push_batch([*drive(1), 5], strict=True)  # type: ignore[list-item]
    assert fences.inside(1) == ["all"]


def test_memory_is_bounded_and_what_is_given_up_is_said():
    """Those longest unseen go first; who is in nothing takes no room."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", most_objects=2)

    first = fences.push_batch([*drive(1, vehicle="a"), *drive(1, vehicle="b"), *drive(9, vehicle="x")])
    second = fences.push_batch([*drive(1, vehicle="a"), *drive(1, vehicle="c")])

    assert [one[1:] for one in told(first)] == [("a", "left", "enter"), ("b", "left", "enter")]
    assert told(second) == [(1, "b", "left", "lost"), (1, "c", "left", "enter")]
    assert len(fences) == 2


def test_objects_are_forgotten_after_a_while():
    """By the times of the events."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", forget_after=100)

    fences.push_batch([*drive(1, vehicle="a", t=0), *drive(1, vehicle="a", t=50)])
    late = fences.push({"vehicle": "b", "location": [9, 9], "t": 151})

    assert [tuple(change) for change in late] == [("a", "left", "lost", 50.0)]


def test_an_unsubscribed_fence_is_left():
    """By the object's next event."""
    engine = engine_of()
    fences = tocsin.Fences(engine, key="vehicle")
    fences.push_batch(drive(1))
    engine.unsubscribe("left")

    assert [(one.subscription, one.change) for one in fences.push(drive(1)[0])] == [("left", "exit")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": 5}, "key is 5; it names an attribute"),
        ({"key": ""}, "key is ''; it names an attribute"),
        ({"key": "v", "time": 5}, "time is 5; it names"),
        ({"key": "v", "path": ""}, "path is ''; it names"),
        ({"key": "v", "path": "v"}, "path and key are both 'v'; path names the attribute with the object's place"),
        ({"key": "v", "time": "t", "path": "t"}, "path and time are both 't'"),
        ({"key": "v", "inside": "yes"}, "inside is 'yes'; it is True or False"),
        ({"key": "v", "enter_after": 0}, "enter_after is 0; it counts events"),
        ({"key": "v", "exit_after": True}, "exit_after is True"),
        ({"key": "v", "dwell": 3}, "dwell=3 needs time, the attribute with the time of an event"),
        ({"key": "v", "time": "t", "dwell": -1}, "dwell is -1; it is a number of seconds"),
        ({"key": "v", "time": "t", "dwell": "soon"}, "dwell is 'soon'; it is .*, or a time such as '5 min'"),
        ({"key": "v", "most_objects": 0}, "most_objects is 0"),
        ({"key": "v", "most_objects": True}, "most_objects is True"),
        ({"key": "v", "forget_after": 5}, "needs time, the attribute with the time"),
        ({"key": "v", "time": "t", "forget_after": "5"}, "forget_after is '5'; it is a number of seconds"),
    ],
)
def test_odd_options_are_refused(options, said):
    with pytest.raises(tocsin.InvalidInput, match=said):
        tocsin.Fences(engine_of(), **options)


def test_an_option_that_is_none_is_refused():
    with pytest.raises(tocsin.InvalidInput, match=r"engine is 5; give a tocsin\.Engine"):
        tocsin.Fences(5, key="v")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'lists'"):
        tocsin.Fences(engine_of(), key="v").push_batch([], lists=True)  # type: ignore[call-arg]


def test_many_threads_push():
    """Each event is taken once: what entered and what left balance."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle")
    counts: list[int] = []

    def push(vehicle: int) -> None:
        for _ in range(20):
            counts.append(len(fences.push_batch(drive(1, 9, vehicle=vehicle))))

    threads = [threading.Thread(target=push, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [2] * 80
    assert len(fences) == 0


def test_nothing_in_nothing_out():
    answer = tocsin.Fences(engine_of(), key="vehicle").push_batch([])

    assert len(answer) == 0
    assert answer.table.schema.names == ["event", "object", "subscription", "change", "seconds"]


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(
    drawn=events,
    gaps=st.lists(
        st.sampled_from([{}, {"location": None}, {"location": "here"}, {"location": [1, 2, 3, 4, 5]}]), max_size=9
    ),
    path=st.sampled_from([None, "location"]),
    data=st.data(),
)
def test_events_that_say_nothing_change_nothing(drawn: Any, gaps: Any, path: Any, data: Any) -> None:
    """A trace without its events that are UNKNOWN to every fence gives the same changes, rows apart."""
    zones = {
        "left": ZONES["left"],
        "middle": ZONES["middle"],
        "outside": "NOT S_INTERSECTS(location, BBOX(0, 0, 4, 9))",
    }
    whole = [(True, event) for event in drawn]
    for gap in gaps:
        at = data.draw(st.integers(0, len(whole)))
        whole.insert(at, (False, {"vehicle": data.draw(st.integers(0, 2)), "t": data.draw(st.integers(0, 99)), **gap}))
    options: dict[str, Any] = {"key": "vehicle", "time": "t", "path": path, "forget_after": 20, "exit_after": 2}

    engine = engine_of(zones)
    if data.draw(st.booleans()):
        engine.merge()
    with_gaps, without = tocsin.Fences(engine, **options), tocsin.Fences(engine, **options)
    answer = with_gaps.push_batch([event for _, event in whole])
    expected = without.push_batch([event for says, event in whole if says])

    numbers = [row for row, (says, _) in enumerate(whole) if says]
    own = [(numbers[one["event"]], *list(one.values())[1:]) for one in expected]
    assert [tuple(one.values()) for one in answer] == own
    assert dict(with_gaps.objects()) == dict(without.objects()) and len(with_gaps) == len(without)
    if gaps and not drawn:
        assert any("whether the object is still inside" in str(one) for one in answer.warnings)


def test_places_that_are_not_known_are_left_out() -> None:
    """(181, 91) always, others by `no_places`; such an event says nothing of where the object is."""
    events = [*drive(1), {"vehicle": 1, "location": [0, 0]}, {"vehicle": 1, "location": [181, 91]}, *drive(9)]
    zones = {"left": "S_INTERSECTS(location, BBOX(0.5, 0, 4, 9))"}
    plain = tocsin.Fences(engine_of(zones), key="vehicle").push_batch(events)
    chosen = tocsin.Fences(engine_of(zones), key="vehicle", no_places=[(0, 0), (181, 91)]).push_batch(events)

    assert [(row, change) for row, _, _, change in told(plain)] == [(0, "enter"), (1, "exit")]
    assert [(row, change) for row, _, _, change in told(chosen)] == [(0, "enter"), (3, "exit")]


def test_a_batch_takes_points_and_payloads() -> None:
    """As `match_batch` does: coordinates in two attributes, and what subscriptions carry beside their changes."""
    engine = tocsin.Engine()
    engine.subscribe("left", ZONES["left"], payload={"to": "me"})
    fences = tocsin.Fences(engine, key="vehicle")

    answer = fences.push_batch([{"vehicle": 1, "x": 1, "y": 5}], points={"location": ("x", "y")}, payload=True)

    assert [(row["change"], row["payload"]) for row in answer] == [("enter", '{"to": "me"}')]
