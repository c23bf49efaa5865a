"""Whatever kills the writer, what was acknowledged is there afterwards, and at most what was in flight besides."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.durable.killing import FORK, KILLED, Subject, at_a_statement, killed_at_each_step
from tests.waiting import awaited
from tocsin.store.database import Database

EVENT: Final = {"n": 1}
State = dict[Any, tuple[str, float]]

_CHANGES: Final = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.just("put"), st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.just("remove"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("remove all"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("rescore"), st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.just("put all"), st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.just("checkpoint"), st.just(0), st.just(0)),
    ),
    min_size=1,
    max_size=8,
)


def made(engine: Any, change: tuple[str, int, int]) -> None:
    kind, name, number = change
    if kind == "put":
        engine.subscribe(f"s{name}", f"n >= {number}", replace=True)
    elif kind == "remove" and f"s{name}" in engine:
        engine.unsubscribe(f"s{name}")
    elif kind == "remove all":
        engine.unsubscribe_many([f"s{i}" for i in range(name + 1)])
    elif kind == "rescore" and f"s{name}" in engine:
        engine.rescore(f"s{name}", float(number))
    elif kind == "put all":
        engine.subscribe_many([{"id": f"s{i}", "where": f"n >= {number}"} for i in range(name + 1)], replace=True)
    elif kind == "checkpoint":
        engine.checkpoint()


def after(state: State, change: tuple[str, int, int]) -> State:
    """The oracle: what a change makes of what is held."""
    kind, name, number = change
    held = dict(state)
    if kind == "put":
        held[f"s{name}"] = f"n >= {number}", 1.0
    elif kind == "remove":
        held.pop(f"s{name}", None)
    elif kind == "remove all":
        held = {id: record for id, record in held.items() if id > f"s{name}"}
    elif kind == "rescore" and f"s{name}" in held:
        held[f"s{name}"] = held[f"s{name}"][0], float(number)
    elif kind == "put all":
        held.update({f"s{i}": (f"n >= {number}", 1.0) for i in range(name + 1)})
    return held


def held_in(engine: Any) -> State:
    return {row["id"]: (row["where"], row["score"]) for row in engine.subscription_table().to_pylist()}


ENGINE: Final = Subject(
    tocsin.Engine.open,
    made,
    lambda engine: engine._database,
    held_in,
    lambda changes: list(itertools.accumulate(changes, after, initial={})),
)


def goes_on(engine: Any) -> None:
    """An engine that was opened again answers from what it holds, and takes changes."""
    found = {one.subscription: one.score for one in engine.match(EVENT)}
    assert found == {id: score for id, (where, score) in held_in(engine).items() if where in ("n >= 0", "n >= 1")}
    engine.subscribe("later", "n = 1")


def at_a_file(engine: Any, step: int, has_happened: Any) -> None:
    """Die before the operation of a number on the files of the index."""
    steps, folder = itertools.count(), str(engine.folder)
    operations = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "os.link")

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        touched = [str(one) for one in arguments if isinstance(one, str | bytes | os.PathLike)]
        if event in operations and any(folder in one for one in touched) and next(steps) == step:
            has_happened.value = True
            os._exit(KILLED)

    sys.addaudithook(watch)


@given(changes=_CHANGES)
@settings(max_examples=max(2, settings.default.max_examples // 8), deadline=None)
def test_a_writer_that_dies_before_any_statement(changes: list[tuple[str, int, int]], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("statements")
    steps = [goes_on(engine) for engine in killed_at_each_step(ENGINE, folder, changes, at_a_statement(ENGINE))]
    assert len(steps) > 1 or all(kind.startswith("remove") for kind, *_ in changes)  # of what is not there


@pytest.mark.slow("a child dies at each step")
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("put", 1, 1), ("checkpoint", 0, 0)], marks=pytest.mark.long),  # the other one has it, too
        [
            ("put all", 4, 1),
            ("checkpoint", 0, 0),
            ("remove", 2, 0),
            ("remove all", 1, 0),
            ("put all", 1, 2),
            ("rescore", 1, 3),
            ("put", 0, 0),
            ("checkpoint", 0, 0),
        ],
    ],
)
def test_a_writer_that_dies_before_any_step_with_a_file(changes: list[tuple[str, int, int]], tmp_path: Path) -> None:
    steps = [goes_on(engine) for engine in killed_at_each_step(ENGINE, tmp_path, changes, at_a_file, closes=True)]
    assert len(steps) > 11


def making(folder: Path, step: int, has_happened: Any) -> None:
    """In a child: open a folder, and die at a step with its files."""
    at_a_file(SimpleNamespace(folder=folder), step, has_happened)
    tocsin.Engine.open(folder)
    os._exit(0)


@pytest.mark.filterwarnings("ignore:.* was an index")
def test_an_index_that_is_taken_over_is_taken_over_as_a_whole(tmp_path: Path) -> None:
    for step in itertools.count():
        folder = tmp_path / str(step)
        saved = tocsin.Engine()
        saved.subscribe_many([{"id": "a", "where": "n = 1"}, {"id": "b", "where": "n = 2"}])
        saved.save(folder)
        has_happened = FORK.Value("b", False)
        child = FORK.Process(target=making, args=(folder, step, has_happened))
        child.start()
        child.join(60)
        with tocsin.Engine.open(folder) as engine:
            assert sorted(engine) == ["a", "b"]
        if not has_happened.value:
            break
    assert step > 3


def writing(folder: Path, counts: Any, number: int) -> None:
    """In a child: threads that subscribe without end, each counting what was acknowledged."""
    engine = tocsin.Engine.open(folder)

    def work(thread: int) -> None:
        for i in itertools.count():
            engine.subscribe(f"{number}-{thread}-{i}", f"n >= {i % 3}")
            counts[thread] = i + 1

    for thread in range(len(counts)):
        threading.Thread(target=work, args=(thread,), daemon=True).start()
    time.sleep(60)


@pytest.mark.parametrize("times", [3, pytest.param(100, marks=pytest.mark.long)])
def test_a_writer_that_is_killed_under_load(times: int, tmp_path: Path) -> None:
    """With SIGKILL, at any moment, while threads subscribe; each time the same folder goes on."""
    expected: set[str] = set()
    for number in range(times):
        counts = FORK.Array("q", 8, lock=False)
        child = FORK.Process(target=writing, args=(tmp_path, counts, number))
        child.start()
        awaited(lambda counts=counts: any(counts), step_s=0.005)
        time.sleep(0.01 + 0.03 * (number % 7))
        child.kill()
        child.join()
        done = list(counts)
        with tocsin.Engine.open(tmp_path) as engine:
            held = set(engine)
        expected |= {f"{number}-{thread}-{i}" for thread, count in enumerate(done) for i in range(count)}
        in_flight = {f"{number}-{thread}-{count}" for thread, count in enumerate(done)}
        assert expected <= held <= expected | in_flight
        expected = held
    assert Database.open(tmp_path, read_only=True).problems() == []
