"""Changes of several threads: each caller gets the answer to its own, whatever the others do."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.durable.test_stores import ids
from tocsin import DuplicateSubscription, RecordError, StoreError


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
