"""A durable window beside one in memory and beside SQLite alone, in one run.

Rows: batches of 10,000 messages, a refill without changes, single pushes, and opening after a kill.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import tocsin
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row
from benchmarks.window_workload import BOUNDS, WindowLoad
from tocsin.store.schema import SCHEMA

_HELD: Final = 100_000
_BATCH: Final = 10_000
_SINGLE: Final = 500
_ROUNDS: Final = 5
_FORK: Final = multiprocessing.get_context("fork")
_LOAD: Final = WindowLoad()


def rows(subscriptions: int) -> Iterator[Row]:
    """All rows, for windows of 100,000 messages."""
    memory = tocsin.Window(_HELD, bounds=BOUNDS)
    _fill(memory, subscriptions)
    with tempfile.TemporaryDirectory() as folder:
        with tocsin.Window.open(folder, _HELD, bounds=BOUNDS) as durable:
            _fill(durable, subscriptions)
            yield from _batches(memory, durable, subscriptions)
        yield from _singles(memory, Path(folder), subscriptions)
        yield from _opened(Path(folder), subscriptions)


def _fill(window: Any, subscriptions: int) -> None:
    window.push_batch(_LOAD.messages(_HELD), changes=False)
    window.subscribe_many(_LOAD.subscriptions(subscriptions))
    window.push_batch(_LOAD.messages(_BATCH, 1))  # thresholds form


def _batches(memory: Any, durable: Any, subscriptions: int) -> Iterator[Row]:
    """Each batch is pushed into both, in turns; those without changes replace the whole window."""
    for count, changes in ((_BATCH, True), (_HELD, False)):
        ours, theirs = [], []
        for part in range(_ROUNDS):
            messages = _LOAD.messages(count, 2 + part)
            for window, taken in ((memory, theirs), (durable, ours)):
                begun = time.perf_counter()
                window.push_batch(messages, changes=changes)
                taken.append(time.perf_counter() - begun)
        rate, alone = (count / statistics.median(one) for one in (ours, theirs))
        note = f"{rate / alone:.2f} of a window in memory, {alone:,.0f}; changes={changes}"
        yield Row("window", f"{subscriptions:,}", f"push_batch of {count:,}", rate, "msgs/s", note)


def _singles(memory: Any, folder: Path, subscriptions: int) -> Iterator[Row]:
    """Pushes that were durable when the call returned; SQLite alone with the same rows, one a transaction."""
    records = _LOAD.messages(_SINGLE, 99).to_pylist()
    in_memory = wall_seconds(lambda: [memory.push(**one) for one in records])
    for sync, name in (("full", "FULL"), ("relaxed", "NORMAL")):
        with tocsin.Window.open(folder, sync=sync) as durable:
            took = wall_seconds(lambda durable=durable: [durable.push(**one) for one in records])
        rate, alone = _SINGLE / took, _SINGLE / _by_sqlite(folder, name, records)
        note = f"{rate / alone:.2f} of SQLite alone, {alone:,.0f}; in memory {_SINGLE / in_memory:,.0f}; sync {sync}"
        yield Row("window", f"{subscriptions:,}", "push, 1 thread", rate, "msgs/s", note)


def _by_sqlite(folder: Path, synchronous: str, records: list[Any]) -> float:
    place = folder / "alone.db"
    connection = sqlite3.connect(place, isolation_level=None)
    for pragma in ("journal_mode = WAL", f"synchronous = {synchronous}", "wal_autocheckpoint = 0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO window_messages VALUES (-1, NULL, 0, 0, 0, '[]')")
    begun = time.perf_counter()
    for number, one in enumerate(records):
        connection.execute("BEGIN IMMEDIATE")
        values = (number, None, *one["location"], 0.0, str(one["words"]))
        connection.execute("INSERT INTO window_messages VALUES (?, ?, ?, ?, ?, ?)", values)
        connection.execute("DELETE FROM window_messages WHERE number < ?", (number,))
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('window_state', ?)", (f'{{"taken": {number}}}',))
        connection.execute("COMMIT")
    seconds = time.perf_counter() - begun
    connection.close()
    for one in folder.glob("alone.db*"):
        one.unlink()
    return seconds


def _opened(folder: Path, subscriptions: int) -> Iterator[Row]:
    """After a kill, by the time in which a saved window is loaded."""
    child = _FORK.Process(target=_killed, args=(folder,))
    child.start()
    child.join()
    with tempfile.TemporaryDirectory() as saved:
        with tocsin.Window.open(folder) as durable:
            durable.save(saved)
        alone = statistics.median(wall_seconds(lambda: tocsin.Window.load(saved)) for _ in range(3))
    took = statistics.median(wall_seconds(lambda: tocsin.Window.open(folder).close()) for _ in range(3))
    note = f"{took / alone:.2f} times Window.load, {alone:.2f} s; {_HELD:,} messages"
    yield Row("window", f"{subscriptions:,}", "Window.open", took, "s", note)
    size = sum(one.stat().st_size for one in folder.glob("store.db*"))
    yield Row("window", f"{subscriptions:,}", "store.db", size / 2**20, "MiB", f"{_HELD:,} messages")


def _killed(folder: Path) -> None:
    window = tocsin.Window.open(folder)
    window.push_batch(_LOAD.messages(_BATCH, 98))
    os._exit(0)
