"""Objects that enter, dwell in, leave and are lost: held against an oracle that looks back over all events."""

from __future__ import annotations

import datetime as dt
import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.naive import fences as naive

ZONES = {
    "left": "S_INTERSECTS(location, BBOX(0, 0, 4, 9))",
    "middle": "S_INTERSECTS(location, BBOX(3, 0, 6, 9))",
    "fast": "speed > 5",
    "all": "location IS NOT NULL",
}


def engine_of(zones: dict[str, str] | None = None) -> tocsin.Engine:
    engine = tocsin.Engine()
    for name, where in (zones or ZONES).items():
        engine.subscribe(name, where)
    return engine


def drive(*places: float, vehicle: Any = 1, **more: Any) -> list[dict[str, Any]]:
    return [{"vehicle": vehicle, "location": [x, 5], **more} for x in places]


def told(answer: tocsin.Answer) -> list[tuple[Any, ...]]:
    return [(row["event"], row["object"], row["subscription"], row["change"]) for row in answer]


events = st.lists(
    st.fixed_dictionaries(
        {"vehicle": st.integers(0, 2), "location": st.tuples(st.integers(-1, 7), st.just(5)).map(list)},
        optional={"speed": st.integers(4, 7), "t": st.integers(0, 50)},
    ),
    max_size=25,
)


@settings(max_examples=max(30, settings.default.max_examples // 5))
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


def test_saved_and_loaded_they_go_on(tmp_path: Path):
    """Halfway through the hysteresis, with keys of several kinds."""
    engine = engine_of()
    whole = tocsin.Fences(engine, key="vehicle", time="t", exit_after=2, enter_after=2, dwell=5)
    parts = tocsin.Fences(engine, key="vehicle", time="t", exit_after=2, enter_after=2, dwell=5)
    way = [one for x in (1, 2, 9, 2, 9, 9, 1) for v in (1, 2) for one in drive(x, vehicle=v, t=x * 3)]
    expected = [[tuple(c) for c in whole.push(event)] for event in way]
    found = []
    for event in way:
        found.append([tuple(c) for c in parts.push(event)])
        parts.save(tmp_path / "fences.jsonl")
        parts = tocsin.Fences.load(tmp_path / "fences.jsonl", engine)

    assert found == expected
    assert any(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["fences.jsonl"]


OPTION = '{"tocsin fences": 3, "followed": {"key": 5}, "rules": {}, "objects": 0}\n'


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        ("", 1),
        ("{}\n", 1),
        ("{", 1),
        ("[" * 100_000, 1),
        (OPTION, 1),
        (OPTION.replace("key", "odd"), 1),
        ("odd", 2),
        ("bytes", 2),
        ("number", 2),
        ("half", 4),
        ("cut", 4),
        ("more", 5),
        ("empty", 2),
    ],
)
def test_a_damaged_file_is_refused(damage: str, line: int, tmp_path: Path):
    """With the line, and what to do; in words, and not as Python's exception."""
    path = tmp_path / "fences.jsonl"
    fences = tocsin.Fences(engine_of(), key="vehicle")
    fences.push_batch([one for v in range(3) for one in drive(1, vehicle=v)])
    fences.save(path)
    lines = path.read_text().splitlines(keepends=True)
    whole = {
        "cut": "".join(lines[:-1]),
        "half": "".join(lines)[:-10],
        "odd": lines[0] + "[1]\n",
        "bytes": lines[0] + '["\xff"]\n',
        "empty": lines[0] + "[]\n",
        "number": lines[0] + "5\n",
        "more": "".join(lines) + "[6, 7.0]\n",
    }
    path.write_bytes(whole.get(damage, damage).encode("latin-1"))

    with pytest.raises(tocsin.SegmentError) as raised:
        tocsin.Fences.load(path, engine_of())
    assert str(raised.value) == f"{path} is not a complete state of fences (line {line}); delete it to begin anew"


def test_a_file_of_a_later_release_is_refused(tmp_path: Path):
    (path := tmp_path / "f.jsonl").write_text('{"tocsin fences": 9}\n')
    with pytest.raises(tocsin.SegmentError, match="of version 9, and this release reads 2 and 3; use the release that"):
        tocsin.Fences.load(path, engine_of())


def test_files_that_cannot_be_read_or_written(tmp_path: Path):
    with pytest.raises(tocsin.InvalidInput, match="cannot read"):
        tocsin.Fences.load(tmp_path / "none", engine_of())
    with pytest.raises(tocsin.InvalidInput, match="cannot write"):
        tocsin.Fences(engine_of(), key="v").save(tmp_path / "no" / "folder")


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


@settings(max_examples=max(30, settings.default.max_examples // 5))
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


def test_one_without_a_time_keeps_nobody() -> None:
    """Objects that were never seen at a time, and events that come late, let others be forgotten all the same."""
    fences = tocsin.Fences(engine_of({"one": "x = 1"}), key="v", time="t", forget_after=10)
    for event in (
        {"v": "a", "x": 1},
        {"v": "b", "t": 100, "x": 1},
        {"v": "c", "t": 99, "x": 1},
        {"v": "b", "t": 4, "x": 1},
    ):
        fences.push(event)

    assert [(one.object, one.change) for one in fences.push({"v": "d", "t": 110, "x": 0})] == [("c", "lost")]
    assert [(one.object, one.change) for one in fences.push({"v": "d", "t": 111, "x": 0})] == [("b", "lost")]
    assert dict(fences.objects()) == {"a": ["one"]}


@settings(max_examples=max(30, settings.default.max_examples // 5))
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


def test_events_that_come_late_are_ignored_and_told() -> None:
    """By the latest time of the object, though it is in nothing; another object may be later."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t")

    answer = fences.push_batch(
        [*drive(1, t=0), *drive(9, t=10), *drive(1, t=8), *drive(1, t=8, vehicle=2), *drive(1, t=10), *drive(2)]
    )

    assert told(answer) == [
        (0, 1, "left", "enter"),
        (1, 1, "left", "exit"),
        (3, 2, "left", "enter"),
        (4, 1, "left", "enter"),
    ]
    assert [str(one) for one in answer.warnings] == [
        "time='t': 1 event (row 2) ignored: older than the latest event of the same object"
    ]


def test_events_of_a_call_may_be_taken_in_the_order_of_their_times() -> None:
    """`order="time"` sorts them; what is told keeps their rows."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", order="time")

    answer = fences.push_batch([*drive(9, t=10), *drive(1, t=0), *drive(2, t=5)])

    assert [tuple(one.values())[:5] for one in answer] == [(0, 1, "left", "exit", 10.0), (1, 1, "left", "enter", 0.0)]
    assert answer.warnings == []


def test_a_batch_has_the_time_and_a_key_of_each_event() -> None:
    """As they came, in the order of the events; mixed types are texts, as keys are; a misspelt name is told."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", order="time")
    first = fences.push_batch([*drive(9, t=10, of={"id": 7}), *drive(1, t=5, of={"id": 8})], event_key="of.id")
    assert [tuple(one.values()) for one in first] == [
        (0, 7, 1, "left", "exit", 5.0, 10),
        (1, 8, 1, "left", "enter", 0.0, 5),
    ]
    assert first.table.schema.names == ["event", "event_key", "object", "subscription", "change", "seconds", "time"]

    moment = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
    second = fences.push_batch([*drive(1, t=moment, id="a")], event_key="id")
    third = fences.push_batch([*drive(9, t="2024-06-01T01:00:00Z", id="a"), *drive(1, t=2e9)], event_key="idd")
    assert [(one["event_key"], one["time"]) for one in second] == [("a", moment)]
    assert [(one["event_key"], one["time"]) for one in third] == [
        (None, "2024-06-01T01:00:00Z"),
        (None, "2000000000.0"),
    ]
    assert "event_key='idd': no event has idd; did you mean id?" in map(str, third.warnings)
    assert fences.push_batch([], event_key="id").table.schema.names == first.table.schema.names
    with pytest.raises(tocsin.InvalidInput, match="event_key is 5; it names an attribute"):
        fences.push_batch([], event_key=5)  # type: ignore[arg-type]


def test_an_entry_and_an_exit_may_take_time() -> None:
    """A run of hits, or of misses, has to last so long; one odd event between begins it anew."""
    for span in ("10 s", dt.timedelta(seconds=10)):
        fences = tocsin.Fences(
            engine_of({"left": ZONES["left"]}), key="vehicle", time="t", enter_after=span, exit_after=span
        )
        places = [(1, 0), (1, 9), (1, 10), (9, 12), (9, 21), (1, 22), (9, 23), (9, 32), (9, 33), (1, 40)]
        answer = fences.push_batch([one for x, t in places for one in drive(x, t=t)])
        assert [(r["event"], r["change"], r["seconds"]) for r in answer] == [(2, "enter", 10.0), (8, "exit", 33.0)]


def test_every_option_for_a_time_takes_a_span() -> None:
    """As a number of seconds, a text or a `timedelta`; also one of many days."""
    for dwell, after in ((60, 3600), ("1 min", "1 h"), (dt.timedelta(minutes=1), dt.timedelta(hours=1))):
        fences = tocsin.Fences(
            engine_of({"left": ZONES["left"]}), key="vehicle", time="t", dwell=dwell, forget_after=after
        )
        answer = fences.push_batch([*drive(1, t=0), *drive(1, t=60), *drive(9, vehicle=2, t=3661)])
        assert [(r["event"], r["change"]) for r in answer] == [(0, "enter"), (1, "dwell"), (2, "lost")]

    fences = tocsin.Fences(
        engine_of({"left": ZONES["left"]}), key="vehicle", time="t", enter_after=dt.timedelta(days=20)
    )
    assert [len(fences.push({**drive(1)[0], "t": day * 86400})) for day in (0, 19, 20)] == [0, 0, 1]


def test_times_in_another_unit_are_read_or_told() -> None:
    """`time_unit` says what numbers are; one that looks like another unit, or cannot be read, is told."""
    fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", time_unit="ms")
    answer = fences.push_batch([*drive(1, t=1714564800000), *drive(9, t=1714564801500)])
    assert [r["seconds"] for r in answer] == [0.0, 1.5] and answer.warnings == []

    for events, said in (
        (drive(1, t=1714564800000), "1 event (row 0) with times that look like another unit; give time_unit"),
        (drive(1, t="soon"), "1 event (row 0) with unreadable times"),
        (drive(1), "no event has t, so that times in seconds are unknown"),
    ):
        fences = tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t")
        assert [said in str(one) for one in fences.push_batch(events).warnings] == [True]


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


def test_fences_of_the_release_before_are_opened(tmp_path: Path) -> None:
    """A file of version 2 goes on where it was, and is saved in today's form."""
    engine = engine_of(
        {"left": "S_INTERSECTS(location, BBOX(0, 0, 10, 10))", "right": "S_INTERSECTS(location, BBOX(10, 0, 20, 10))"}
    )
    fences = tocsin.Fences.load(Path(__file__).parent / "saved" / "fences-2.jsonl", engine)
    assert dict(fences.objects()) == {7: ["right"], "a": ["left", "right"]}

    fences.save(tmp_path / "now.jsonl")
    again = tocsin.Fences.load(tmp_path / "now.jsonl", engine)

    for one in (fences, again):
        changes = one.push({"vehicle": "a", "location": [15, 6], "t": 150})
        assert [(c.subscription, c.change, c.seconds) for c in changes] == [
            ("left", "exit", 50.0),
            ("right", "dwell", 30.0),
        ]
