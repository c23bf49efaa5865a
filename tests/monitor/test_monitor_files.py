"""Files of monitors: after loading they go on as they would have; damaged files and other versions are refused."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.monitor.over_time import both, came, expected, moment
from tests.monitor.over_time import given as as_event
from tests.monitor.test_monitor_oracle import options, streams
from tests.sizes import sized
from tests.strategies.over_time import conditions
from tocsin.model.values import Box, Point, Range


def saved_and_loaded(monitor: tocsin.Monitor, folder: Path) -> tocsin.Monitor:
    monitor.save(folder / "monitor")
    return tocsin.Monitor.load(folder / "monitor", monitor._engine)


@settings(max_examples=sized(30, 1500), deadline=None)
@given(
    st.lists(conditions(), min_size=1, max_size=3),
    st.lists(st.sampled_from([(), ("host",), ("host", "user")]), min_size=3, max_size=3),
    streams("user host"),
    st.sampled_from([None, None, 0, 5]),
    options,
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_saved_and_loaded_at_any_call_it_tells_what_the_oracle_tells(
    tmp_path_factory, subscriptions, keys, stream, lateness, how, saves
):
    naive, monitor = both(subscriptions, keys, lateness=lateness, **how)
    folder = tmp_path_factory.mktemp("saved")
    for (at, record), is_saved in zip(stream, saves, strict=False):
        if is_saved:
            monitor = saved_and_loaded(monitor, folder)
        if record is None:
            assert came(monitor.advance(moment(at))) == expected(naive.advance(at))
        elif any(all(one in record for one in key) for key in naive.keys):
            assert came(monitor.push(as_event(record))) == expected(naive.push(record))


def monitor_of(*texts: str, **how: object) -> tocsin.Monitor:
    engine = tocsin.Engine()
    for number, text in enumerate(texts):
        engine.subscribe(f"s{number}", text)
    return tocsin.Monitor(engine, **{"key": "user", "time": "ts", **how})  # type: ignore[arg-type]


def test_a_state_says_no_more_than_is_remembered(tmp_path: Path):
    """Sizes, options and places are those of before; nothing is left beside the file."""
    monitor = monitor_of("COUNT(x > 1, 'PT1H') >= 2", "PREVIOUS(x) = 'a'", "COUNT_DISTINCT(x, TRUE, 'PT1H') > 1")
    monitor.push_batch([{"user": n % 3, "ts": n, "x": x} for n, x in enumerate([3, "a", 3, True, None, 2.5])])
    again = saved_and_loaded(monitor, tmp_path)

    assert (repr(again), again.sizes()["values"]) == (repr(monitor), monitor.sizes()["values"])
    assert [again.inside(n) for n in range(3)] == [monitor.inside(n) for n in range(3)]
    assert [path.name for path in tmp_path.iterdir()] == ["monitor"]


ODD = {
    "i": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "p": Point(1.0, 2.0),
    "b": Box(0.0, 0.0, 1.0, 1.0),
    "r": Range(1, 2, contained=True),
    "l": [dt.date(2024, 1, 1), "a", {1, 2}],
    "o": {"of": b"\0"},
}


@pytest.mark.parametrize("lateness", [None, 1000])
def test_the_latest_event_stands_with_all_its_values(lateness: float | None, tmp_path: Path):
    """Values that JSON does not have mean the same after loading, when time alone makes a subscription TRUE."""
    conditions = [
        "i = TIMESTAMP('2024-01-01T00:00:00Z')",
        "S_INTERSECTS(p, BBOX(0, 0, 3, 3)) AND S_INTERSECTS(b, BBOX(0, 0, 3, 3))",
        "r <= 2",
        "l IS NOT NULL",
        "o.of IS NOT NULL",
    ]
    monitor = monitor_of(*(f"SINCE(TRUE) >= 600 AND {one}" for one in conditions), lateness=lateness)
    found = []
    for one in (monitor, None):
        if one is None:
            one = tocsin.Monitor.load(tmp_path / "monitor", monitor._engine)
        else:
            monitor.push({"user": "u", "ts": dt.datetime(1970, 1, 1, tzinfo=dt.UTC), **ODD})
            monitor.save(tmp_path / "monitor")
        found.append([(change.subscription, change.microseconds) for change in one.advance(5000)])

    assert found[0] == found[1]
    assert len(found[0]) >= 4


def test_json_lines_are_kept_as_they_came(tmp_path: Path):
    """Also those that are held back."""
    (tmp_path / "e.jsonl").write_text('{"user": 1, "ts": 0, "x": 5}\n{"user": 2, "ts": 50, "x": "a"}\n')
    for lateness in (None, 20):
        monitor = monitor_of("SINCE(TRUE) >= 600 AND x = 5", lateness=lateness)
        monitor.push_batch(tmp_path / "e.jsonl")
        again = saved_and_loaded(monitor, tmp_path)
        assert [(one.object, one.microseconds) for one in again.advance(5000)] == [(1, 600_000_000)]


def test_functions_are_known_by_their_texts(tmp_path: Path):
    """Those that nobody asks for any more are forgotten, new ones begin empty, others go on with other numbers."""
    monitor = monitor_of(
        "COUNT(x > 1, 'PT1H') >= 5", "COUNT(x > 2, 'PT1H') >= 5 AND PREVIOUS(x) > 1", "SINCE(x > 1) >= 600"
    )
    monitor.push_batch([{"user": "u", "ts": n, "x": 3} for n in range(4)])
    monitor.save(tmp_path / "monitor")
    engine = tocsin.Engine()
    engine.subscribe("new", "COUNT(x > 0, 'PT1H') >= 1")
    engine.subscribe("less", "COUNT(x > 2, 'PT1H') >= 3")
    engine.subscribe("sooner", "SINCE(x > 1) >= 300")
    again = tocsin.Monitor.load(tmp_path / "monitor", engine)

    assert again.sizes()["values"] == 2
    changes = again.advance(1000)
    assert [(one.subscription, one.microseconds) for one in changes] == [(id, 303_000_000) for id in ("less", "sooner")]
    assert [one.subscription for one in again.push({"user": "u", "ts": 1000, "x": 3})] == ["new"]


def test_a_state_of_a_subscription_that_is_gone_ends(tmp_path: Path):
    """Its object exits with the next event, as without saving; so it is if the subscription had a key of its own."""
    engine = tocsin.Engine()
    engine.subscribe("s", "x > 1", by=["host"])
    monitor = tocsin.Monitor(engine, key="user", time="ts")
    monitor.push({"user": "u", "host": "h", "ts": 0, "x": 3})
    monitor.save(tmp_path / "monitor")
    empty = tocsin.Engine()
    empty.subscribe("t", "x > 1")
    again = tocsin.Monitor.load(tmp_path / "monitor", empty)

    assert again.inside("h", by="host") == ["s"]
    changes = again.push({"user": "u", "host": "h", "ts": 9, "x": 3})
    assert [(one.object, one.subscription, one.change) for one in changes] == [("h", "s", "exit"), ("u", "t", "enter")]


def test_a_monitor_that_was_interrupted_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monitor = monitor_of("PREVIOUS(x) > 1")
    monkeypatch.setattr("tocsin.monitor.terms.matching.added", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        monitor.push({"user": 1, "ts": 0, "x": 3})
    with pytest.raises(tocsin.TocsinError, match="interrupted"):
        monitor.save(tmp_path / "monitor")
    assert not list(tmp_path.iterdir())


# ---- damage


TEXTS = (
    "COUNT(x > 1, 'PT1H') >= 2 AND SUM(x, TRUE, 'PT1H') > 1",
    "PREVIOUS(y) = 'a' AND COUNT_DISTINCT(y, TRUE, 'PT1H') > 0",
    "SINCE(x > 1 AND SINCE(x > 1) < 5) > 600",
)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The members of a file: an object with values of all kinds, in a subscription, and with events held back."""
    monitor = monitor_of(*TEXTS, lateness=5)
    monitor.push_batch([{"user": "u", "ts": n, "x": 3, "y": "ab"[n % 2]} for n in range(20)])
    path = tmp_path_factory.mktemp("state") / "monitor"
    monitor.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def loaded(members: dict[str, bytes], folder: Path) -> tocsin.Monitor:
    with zipfile.ZipFile(folder / "monitor", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return tocsin.Monitor.load(folder / "monitor", monitor_of(*TEXTS)._engine)


def with_row(content: bytes, place: tuple[int, ...], value: object) -> bytes:
    """The first line of JSON with another value at a place."""
    first, *rest = content.splitlines(keepends=True)
    row = within = json.loads(first)
    for step in place[:-1]:
        within = within[step]
    within[place[-1]] = value
    return b"".join([json.dumps(row).encode() + b"\n", *rest])


@pytest.mark.parametrize(
    ("member", "place", "value"),
    [
        ("objects.jsonl", (0,), 1),
        ("objects.jsonl", (0,), -1),
        ("objects.jsonl", (1,), ["u"]),
        ("objects.jsonl", (1,), True),
        ("objects.jsonl", (1,), None),
        ("objects.jsonl", (2,), 2**63),
        ("objects.jsonl", (2,), 1.5),
        ("objects.jsonl", (3, 0, 0), None),
        ("objects.jsonl", (3, 0, 1), 1),
        ("objects.jsonl", (3, 0, 2), "0"),
        ("objects.jsonl", (3, 0, 3), -1),
        ("objects.jsonl", (4,), 9),
        ("objects.jsonl", (5,), "{"),
        ("objects.jsonl", (5,), 7),
        ("held.jsonl", (0,), 2**80),
        ("held.jsonl", (1,), 20),
        ("held.jsonl", (2,), 1),
        ("held.jsonl", (3,), -1),
        ("monitor.json", ("terms", 0, 1), 5),
        ("monitor.json", ("terms", 0, 2), 3),
        ("monitor.json", ("codes", 0, 0), 9),
        ("monitor.json", ("codes", 0, 1), 1),
        ("monitor.json", ("codes",), []),
        ("monitor.json", ("keys",), []),
        ("monitor.json", ("keys", 0), ["host"]),
        ("monitor.json", ("options", "dwell"), "x"),
        ("monitor.json", ("options", "odd"), 1),
        ("monitor.json", ("readings", 0), 1),
        ("monitor.json", ("clock",), "now"),
        ("monitor.json", ("memories",), 9),
    ],
)
def test_what_no_monitor_writes_is_refused(member, place, value, state, tmp_path: Path):
    with pytest.raises(tocsin.SegmentError, match="is not a complete state of a monitor; delete it to begin anew"):
        loaded({**state, member: with_row(state[member], place, value)}, tmp_path)


@pytest.mark.parametrize("value", [-1, 0, 1, 255, 2**31 - 1, -(2**31), 2**60, -(2**63), 2**63 - 1])
def test_no_number_of_a_file_leads_kernels_astray(value: int, state: dict[str, bytes], tmp_path: Path):
    """Each number of the cells in turn is another one: the file is refused, or its monitor goes on to an end."""
    refused = 0
    for name in (name for name in state if name.startswith("cells/")):
        kind = np.dtype("<i8" if name.endswith("words") else "<i4")
        if not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            continue
        numbers = np.frombuffer(state[name], kind)
        for place in range(0, len(numbers), sized(3, 1)):
            changed = numbers.copy()
            changed[place] = value
            try:
                monitor = loaded({**state, name: changed.tobytes()}, tmp_path)
            except tocsin.SegmentError:
                refused += 1
                continue
            monitor.push({"user": "u", "ts": 30, "x": 3, "y": "b"})
            monitor.advance(10_000)
    assert refused or value in (0, 1)


def test_files_that_are_damaged_or_of_another_version_are_refused(state: dict[str, bytes], tmp_path: Path):
    """In words, with what to do; a file that is not there is an error of its own."""
    loaded(state, tmp_path)
    path = tmp_path / "monitor"
    content = path.read_bytes()
    engine = tocsin.Engine()
    for damage in (b"", content[:-9], content[: len(content) // 2], content.replace(b"ts", b"tt"), b"{}\n" * 99):
        path.write_bytes(damage)
        with pytest.raises(tocsin.SegmentError, match="is not a complete state of a monitor"):
            tocsin.Monitor.load(path, engine)
    for name in state:
        with pytest.raises(tocsin.SegmentError, match="is not a complete state of a monitor"):
            loaded({other: one for other, one in state.items() if other != name}, tmp_path)
    with pytest.raises(tocsin.SegmentError, match="of version 9, and this release reads 1; use the release that wrote"):
        loaded({**state, "monitor.json": with_row(state["monitor.json"], ("tocsin monitor",), 9)}, tmp_path)
    with pytest.raises(tocsin.InvalidInput, match="cannot read"):
        tocsin.Monitor.load(tmp_path / "none", engine)
    with pytest.raises(tocsin.InvalidInput, match="cannot write"):
        tocsin.Monitor(engine, key="v").save(tmp_path / "no" / "folder")
