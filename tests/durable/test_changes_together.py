"""Changes of several threads: each caller gets the answer to its own, whatever the others do."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.durable.test_stores import ids
from tests.waiting import awaited
from tocsin import DuplicateSubscription, InvalidInput, RecordError, StoreError
from tocsin.engine.loading import collect
from tocsin.store import Row


def test_what_is_prepared_beside_other_changes_gives_way_to_them(tmp_path: Path) -> None:
    """`subscribe_many` builds its index first. Ids that are taken meanwhile are rejected, with their rows."""
    records = [{"id": f"s{i}", "where": f"n >= {i}"} for i in (3, 1, 2)]
    with tocsin.Engine.open(tmp_path) as engine:
        builder = collect([*records, {"id": "bad"}], engine._templates)
        change = engine._put_all(builder, replace=False, strict=False)
        engine.subscribe("s1", "n = 7")
        accepted, rejects = engine._committer.commit(change)
        assert (accepted, [(one.row, one.id) for one in rejects]) == (2, [(1, "s1"), (3, "bad")])
        assert (engine.get("s1")["where"], list(engine), engine.sequence) == ("n = 7", ["s1", "s2", "s3"], 3)
        assert sorted(one.subscription for one in engine.match({"n": 7})) == ["s1", "s2", "s3"]

        strict = engine._put_all(collect([{"id": "s9", "where": "n = 1"}], None), replace=False, strict=True)
        engine.subscribe("s9", "n = 7")
        with pytest.raises(RecordError, match="subscription 0: a subscription 's9' exists already"):
            engine._committer.commit(strict)
    assert ids(tmp_path) == ["s1", "s2", "s3", "s9"]


@pytest.mark.parametrize("replace", [False, True])
def test_the_first_ids_decide_of_which_kind_all_are(replace: bool, tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path) as engine:
        change = engine._put_all(collect([{"id": 1, "where": "n = 1"}], None), replace=replace, strict=False)
        engine.subscribe("s", "n = 7")
        accepted, rejects = engine._committer.commit(change)
        assert (accepted, rejects[0].id) == (0, 1)
        assert "use one kind" in rejects[0].reason
    assert ids(tmp_path) == ["s"]


def test_a_change_that_cannot_be_stored_is_refused_alone(tmp_path: Path) -> None:
    """A lone surrogate is not UTF-8. Changes of the same transaction are made."""
    with tocsin.Engine.open(tmp_path) as engine, ThreadPoolExecutor(8) as threads:

        def made(number: int) -> str:
            try:
                engine.subscribe(f"s{number}", "n = 1", payload="\ud800" if number % 3 == 0 else "x")
            except RecordError as error:
                return str(error.field)
            return "made"

        done = list(threads.map(made, range(60)))
    assert done == ["payload" if number % 3 == 0 else "made" for number in range(60)]
    assert len(ids(tmp_path)) == 40


@pytest.mark.parametrize(
    ("culprit", "error"),
    [
        (lambda database: 1 // 0, ZeroDivisionError),
        (lambda database: database.subscriptions.put(Row("\ud800", "n = 1", 1.0, None, None)), InvalidInput),
        (lambda database: database.put_meta("n", 2**63), InvalidInput),
        (lambda database: database.connection.execute("INSERT INTO meta VALUES (NULL, 1)"), StoreError),
        (lambda database: bytearray(1 << 62), MemoryError),
    ],
)
def test_a_change_that_fails_costs_its_sender_alone(
    culprit: Callable[[Any], object], error: type[Exception], tmp_path: Path
) -> None:
    """Whatever a change of a group raises, and whenever, it alone gets it. All others are made, once each."""
    with tocsin.Engine.open(tmp_path) as engine, ThreadPoolExecutor(16) as threads:
        blocked, before = Blocked(), engine.sequence
        threads.submit(engine._committer.commit, blocked)
        blocked.is_written.wait()
        bad = [engine._committer.submit(Failing(culprit)) for _ in range(2)]
        good = [threads.submit(engine.subscribe, f"s{number}", "n = 1") for number in range(12)]
        awaited(lambda: engine._committer._waiting.qsize() == 14)
        bad.append(engine._committer.submit(Failing(culprit)))
        blocked.may_go_on.set()

        assert [type(one.exception()) for one in bad] == [error] * 3
        assert [one.exception() for one in good] == [None] * 12
        assert engine.sequence == before + 12
        assert len(engine.match({"n": 1})) == 12
    assert len(ids(tmp_path)) == 12


def test_a_full_disk_refuses_a_whole_group(tmp_path: Path) -> None:
    """The group is not written again: each of its changes would meet the same."""
    with tocsin.Engine.open(tmp_path) as engine, ThreadPoolExecutor(8) as threads:
        blocked, full = Blocked(), Failing(_raise_full)
        threads.submit(engine._committer.commit, blocked)
        blocked.is_written.wait()
        waiting = [engine._committer.submit(one) for one in (full, Failing(lambda database: None))]
        blocked.may_go_on.set()

        assert [str(one.exception()).count("disk is full") for one in waiting] == [1, 1]
        assert full.times == 1
        engine.subscribe("s", "n = 1")
    assert ids(tmp_path) == ["s"]


def _raise_full(_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def test_of_changes_of_one_id_in_a_transaction_the_first_is_made(tmp_path: Path) -> None:
    """The others see it, though memory does not have it yet."""
    with tocsin.Engine.open(tmp_path) as engine, ThreadPoolExecutor(8) as threads:
        blocked = Blocked()
        waiting = threads.submit(engine._committer.commit, blocked)
        blocked.is_written.wait()
        same = [threads.submit(engine.subscribe, "same", f"n = {i}") for i in range(4)]
        while engine._committer._waiting.qsize() < 4:
            pass
        blocked.may_go_on.set()
        errors = [one.exception() for one in same]
        waiting.result()
        assert sum(error is None for error in errors) == 1
        assert sum(isinstance(error, DuplicateSubscription) for error in errors) == 3
    assert ids(tmp_path) == ["same"]


def test_what_waits_when_an_engine_is_closed_is_made(tmp_path: Path) -> None:
    """What comes later is refused."""
    engine, blocked = tocsin.Engine.open(tmp_path), Blocked()
    with ThreadPoolExecutor(8) as threads:
        threads.submit(engine._committer.commit, blocked)
        blocked.is_written.wait()
        waiting = [threads.submit(engine.subscribe, f"s{i}", "n = 1") for i in range(3)]
        alone = threads.submit(engine.subscribe_many, [{"id": "many", "where": "n = 1"}])
        while engine._committer._waiting.qsize() < 4:
            pass
        closing = threads.submit(engine._committer.close)
        while not engine._committer._is_closed:
            pass
        with pytest.raises(StoreError, match="is closed"):
            engine.subscribe("late", "n = 1")
        blocked.may_go_on.set()
        for one in (*waiting, alone, closing):
            one.result()
    engine._committer.close = lambda: None  # type: ignore[method-assign]
    engine.close()
    assert ids(tmp_path) == ["many", "s0", "s1", "s2"]


def test_recent_changes_are_compiled_when_no_more_come(tmp_path: Path) -> None:
    """Not before, so that they are acknowledged sooner."""
    with tocsin.Engine.open(tmp_path) as engine:
        engine.subscribe("s", "n = 1")
        awaited(lambda: list(engine._store.delta.attributes) == ["n"])


class Failing:
    """A change that does something else than it should."""

    is_alone = False

    def __init__(self, does: Callable[[Any], object]) -> None:
        self._does, self.times = does, 0

    def write(self, database: Any, sequence: int, touched: Any) -> int:
        self.times += 1
        self._does(database)
        return sequence

    def apply(self) -> None:
        """Nothing to do."""


class Blocked:
    """A change that is being written until it may go on."""

    is_alone = True

    def __init__(self) -> None:
        self.is_written, self.may_go_on = threading.Event(), threading.Event()

    def write(self, database: Any, sequence: int, touched: Any) -> int:
        self.is_written.set()
        self.may_go_on.wait()
        return sequence

    def apply(self) -> None:
        """Nothing to do."""
