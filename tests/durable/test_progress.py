"""The thread that writes changes: no error between two changes stops it, and if it ends, nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import HANG_S, awaited
from tocsin.errors import StoreError
from tocsin.store import Committer, Database, Writer


class Note:
    """A change that writes a setting."""

    is_alone = False

    def __init__(self, value: int) -> None:
        self._value = value

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        database.put_meta("note", self._value)
        return sequence

    def apply(self) -> int:
        return self._value


@contextmanager
def committing(folder: Path, between: Callable[[], None]) -> Iterator[tuple[Writer, Committer]]:
    writer = Writer(folder, "relaxed")
    committer = writer.start(between)
    try:
        yield writer, committer
    finally:
        writer.close()


@pytest.mark.parametrize("error", [MemoryError(), ValueError("a bug")])
def test_errors_between_changes_stop_nothing(tmp_path: Path, error: Exception) -> None:
    def fails() -> None:
        raise error

    with pytest.warns(UserWarning, match="work between changes failed"), committing(tmp_path, fails) as (_, committer):
        assert [committer.commit(Note(n)) for n in range(3)] == [0, 1, 2]
        assert committer.progress().is_alive


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_refuses_what_waits(tmp_path: Path) -> None:
    """Also what comes later, and nobody hangs."""
    entered, leave = threading.Event(), threading.Event()

    def ends() -> None:
        entered.set()
        leave.wait(HANG_S)
        raise SystemExit

    with committing(tmp_path, ends) as (writer, committer):
        assert committer.commit(Note(1)) == 1
        entered.wait(HANG_S)
        assert committer.progress().waited_s == 0.0
        waiting = [committer.submit(Note(n)) for n in range(5)]
        assert committer.progress().waited_s > 0.0
        leave.set()

        assert all(isinstance(one.exception(HANG_S), StoreError) for one in waiting)
        with pytest.raises(StoreError, match="no longer written"):
            committer.commit(Note(9))
        awaited(lambda: not committer.progress().is_alive)
        assert writer.database.meta("note") == 1
