"""Durable fences know where every object is after a crash, and change as fences in memory do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.durable.killing import FORK, KILLED
from tocsin import InvalidInput, StoreError

_EVENTS = st.lists(
    st.fixed_dictionaries(
        {"car": st.sampled_from([1, 2, "a", 2.5]), "at": st.sampled_from([[1, 1], [5, 5], [20, 5], None])},
        optional={"now": st.integers(0, 9)},
    ),
    max_size=10,
)


def engine() -> tocsin.Engine:
    own = tocsin.Engine()
    own.subscribe("centre", "S_INTERSECTS(at, BBOX(4, 4, 6, 6))")
    own.subscribe("city", "S_INTERSECTS(at, BBOX(0, 0, 10, 10))")
    return own


def state(fences: Any) -> Any:
    return {key: sorted(ids) for key, ids in fences.objects()}, len(fences)


@given(
    events=_EVENTS,
    options=st.sampled_from([{}, {"path": "at"}, {"most_objects": 1}, {"exit_after": 2}]),
    data=st.data(),
)
def test_they_change_as_fences_in_memory_do(events: list, options: dict, data: Any, tmp_path_factory: Any) -> None:
    """However often they are closed and opened, and whether events come alone or together."""
    folder = tmp_path_factory.mktemp("fences")
    settings = {"key": "car", "time": "now", **options}
    memory, durable = tocsin.Fences(engine(), **settings), tocsin.Fences.open(folder, engine(), **settings)
    rest = list(events)
    while rest:
        some, rest = (cut := data.draw(st.integers(1, len(rest)))) and (rest[:cut], rest[cut:])
        if len(some) == 1:
            assert durable.push(some[0]) == memory.push(some[0])
        else:
            assert durable.push_batch(some).table.to_pylist() == memory.push_batch(some).table.to_pylist()
        if data.draw(st.booleans()):
            durable.close()
            durable = tocsin.Fences.open(folder, engine())
        assert state(durable) == state(memory)
    durable.close()


def living(folder: Path, step: int, acknowledged: Any, has_happened: Any) -> None:
    fences = tocsin.Fences.open(folder, engine(), key="car")
    steps = iter(range(10**6))

    def watch(statement: str) -> None:
        if next(steps) == step:
            has_happened.value = True
            os._exit(KILLED)

    fences._database._connection.set_trace_callback(watch)
    for x in (1, 5, 20, 5):
        fences.push({"car": 7, "at": [x, x % 15]})
        acknowledged.value += 1
    os._exit(0)


def test_what_a_push_told_survives_a_crash_before_any_statement(tmp_path: Path) -> None:
    inside = [[], ["city"], ["centre", "city"], [], ["centre", "city"]]
    has_happened, step = FORK.Value("b", True), -1
    while has_happened.value:
        step += 1
        acknowledged, has_happened = FORK.Value("i", 0), FORK.Value("b", False)
        child = FORK.Process(target=living, args=(tmp_path / str(step), step, acknowledged, has_happened))
        child.start()
        child.join(60)
        with tocsin.Fences.open(tmp_path / str(step), engine(), key="car") as fences:
            assert fences.inside(7) in inside[acknowledged.value : acknowledged.value + 2]
    assert step > 8


def test_fences_share_the_folder_of_their_engine(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path) as own:
        own.subscribe("city", "S_INTERSECTS(at, BBOX(0, 0, 10, 10))")
        fences = tocsin.Fences.open(tmp_path, own, key="car")
        assert [change.change for change in fences.push({"car": 7, "at": [5, 5]})] == ["enter"]
        fences.close()  # the engine's store stays open
        own.subscribe("all", "at IS NOT NULL")
    with tocsin.Engine.open(tmp_path) as own:
        fences = tocsin.Fences.open(tmp_path, own)
        assert (fences.inside(7), sorted(own)) == (["city"], ["all", "city"])


def test_options_that_differ_and_folders_in_use_are_refused(tmp_path: Path) -> None:
    first = tocsin.Fences.open(tmp_path, engine(), key="car", dwell="5 min", time="now")
    with pytest.raises(StoreError, match="is open for writing in process"):
        tocsin.Fences.open(tmp_path, engine(), key="car")
    first.close()
    with pytest.raises(InvalidInput, match=r"dwell is 60\.0, but the fences in .* were made with 300\.0"):
        tocsin.Fences.open(tmp_path, engine(), dwell="1 min")
    with tocsin.Fences.open(tmp_path, engine(), key="car", dwell=300) as fences:
        assert fences._tracking.rules.dwell == 300
    with pytest.raises(InvalidInput, match="key is None; name the attribute"):
        tocsin.Fences.open(tmp_path / "new", engine())
    with pytest.raises(InvalidInput, match="sync is 'no'"):
        tocsin.Fences.open(tmp_path, engine(), sync="no")


def test_a_full_disk_takes_an_event_back(tmp_path: Path) -> None:
    with tocsin.Fences.open(tmp_path, engine(), key="car") as fences:
        fences.push({"car": 1, "at": [5, 5]})
        connection = fences._database._connection
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
        with pytest.raises(StoreError, match="is full"):
            fences.push_batch([{"car": "x" * 5_000 + str(i), "at": [5, 5]} for i in range(9)])
        assert state(fences) == ({1: ["centre", "city"]}, 1)
        connection.execute("PRAGMA max_page_count = 1000000")
        assert [change.change for change in fences.push({"car": 1, "at": [20, 5]})] == ["exit", "exit"]


def test_closed_fences_and_a_forked_child_take_no_events(tmp_path: Path) -> None:
    fences = tocsin.Fences.open(tmp_path, engine(), key="car")
    fences.push({"car": 1, "at": [5, 5]})

    def look(found: Any) -> None:
        try:
            fences.push_batch([{"car": 1, "at": [20, 5]}])
        except StoreError as error:
            found.put((str(error), fences.inside(1)))

    found = FORK.SimpleQueue()
    child = FORK.Process(target=look, args=(found,))
    child.start()
    message, inside = found.get()
    child.join()
    assert (f"belongs to process {os.getpid()}" in message, inside) == (True, ["centre", "city"])
    fences.close()
    with pytest.raises(StoreError, match="is closed; open it again"):
        fences.push({"car": 1, "at": [20, 5]})
    assert fences.inside(1) == ["centre", "city"]
