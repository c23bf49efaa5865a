"""A durable engine beside SQLite alone and beside an engine in memory, in one run.

Rows: acknowledged changes with 1 and 16 threads, loading, opening after a kill, matching while changes go on, sizes.
Then those of durable windows.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import tocsin
from benchmarks import durable_windows
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row
from tocsin.store.schema import SCHEMA
from tocsin.store.subscription_table import put_statement

_ROUNDS: Final = 3
_CHANGES: Final = 800
_EVENTS: Final = 20_000
_CALLS: Final = 10
"""Calls in a row: one call is over before many changes are made."""
_FORK = multiprocessing.get_context("fork")


def rows(subscriptions: int) -> Iterator[Row]:
    """All rows; `subscriptions` are loaded, and matched against."""
    for threads in (1, 16):
        yield from _acknowledged(threads)
    yield from _loaded(subscriptions)
    yield from _opened(subscriptions)
    yield from _matched(subscriptions)
    yield from durable_windows.rows(subscriptions)


def _records(count: int) -> list[dict[str, Any]]:
    draw = random.Random(1)
    return [
        {"id": f"s{i}", "where": f"model = 'm{draw.randint(1, 999)}' AND price <= {draw.randint(1, 999)}"}
        for i in range(count)
    ]


def _shared(threads: int, work: Callable[[int, int], None]) -> float:
    """Wall seconds of `_CHANGES` changes that threads share."""
    own = _CHANGES // threads
    workers = [threading.Thread(target=lambda n=n: [work(n, i) for i in range(own)]) for n in range(threads)]
    begun = time.perf_counter()
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return time.perf_counter() - begun


def _acknowledged(threads: int) -> Iterator[Row]:
    """Changes that were durable when the call returned; SQLite alone with the groups that the engine made."""
    for sync, name in (("full", "FULL"), ("relaxed", "NORMAL")):
        ours, theirs = [], []
        for _ in range(_ROUNDS):
            with tempfile.TemporaryDirectory() as folder, tocsin.Engine.open(Path(folder) / "s", sync=sync) as engine:
                groups = _counted(engine._committer)
                ours.append(_shared(threads, lambda n, i, engine=engine: engine.subscribe(f"{n}-{i}", f"price < {i}")))
                group = max(round(_CHANGES / len(groups)), 1)
                theirs.append(_by_sqlite(Path(folder), name, group))
        rate, alone = (_CHANGES / statistics.median(one) for one in (ours, theirs))
        note = f"{rate / alone:.2f} of SQLite alone, {alone:,.0f}, in groups of {group}; sync {sync}"
        yield Row("acknowledged", f"{threads} threads", "subscribe", rate, "changes/s", note)


def _counted(committer: Any) -> list[int]:
    """The sizes of the groups that a committing thread writes from now on."""
    sizes, commit = list[int](), committer._commit

    def counted(group: list[Any]) -> None:
        sizes.append(len(group))
        commit(group)

    committer._commit = counted
    return sizes


def _by_sqlite(folder: Path, synchronous: str, group: int) -> float:
    connection = sqlite3.connect(folder / "alone.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.executescript(SCHEMA)
    put = put_statement(1, has_tombstones=False)
    begun = time.perf_counter()
    for first in range(0, _CHANGES, group):
        connection.execute("BEGIN IMMEDIATE")
        for i in range(first, min(first + group, _CHANGES)):
            connection.execute(put, (f"{i}", f"price < {i}", 1.0, None, None, i, None))
        connection.execute("COMMIT")
    seconds = time.perf_counter() - begun
    connection.close()
    for one in folder.glob("alone.db*"):
        one.unlink()
    return seconds


def _loaded(count: int) -> Iterator[Row]:
    """All texts in one call, durable and with a checkpoint when it returns, by the load into memory."""
    records = _records(count)
    memory, durable, sizes = [], [], {}
    for _ in range(_ROUNDS):
        memory.append(wall_seconds(lambda: tocsin.Engine().subscribe_many(records)))
        with tempfile.TemporaryDirectory() as folder, tocsin.Engine.open(folder) as engine:
            durable.append(wall_seconds(lambda engine=engine: engine.subscribe_many(records)))
            engine.checkpoint()
            sizes = {"store.db and its log": 0, "index": 0}
            for one in Path(folder).rglob("*"):
                if one.is_file():
                    sizes["store.db and its log" if one.name.startswith("store.db") else "index"] += one.stat().st_size
    took, alone = statistics.median(durable), statistics.median(memory)
    note = f"{took / alone:.2f} times the load into memory, {alone:.2f} s"
    yield Row("load", f"{count:,}", "subscribe_many", took, "s", note)
    for what, size in sizes.items():
        yield Row("size", f"{count:,}", what, size / count, "bytes each", "on disk")


def _opened(count: int) -> Iterator[Row]:
    """After a kill that leaves a tail of 50,000 changes behind the last checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        with tocsin.Engine.open(folder) as engine:
            engine.subscribe_many(_records(count))
        child = _FORK.Process(target=_killed, args=(folder,))
        child.start()
        child.join()
        taken = []
        for _ in range(_ROUNDS):
            taken.append(wall_seconds(lambda: tocsin.Engine.open(folder, read_only=True).close()))
        note = "49,999 changes after the checkpoint, read-only, so that each round finds the same"
        yield Row("open", f"{count:,}", "Engine.open", statistics.median(taken), "s", note)


def _killed(folder: str) -> None:
    engine = tocsin.Engine.open(folder)
    draw = random.Random(2)
    engine.subscribe_many([{"id": f"t{i}", "where": f"price < {draw.randint(1, 99)}"} for i in range(49_999)])
    os._exit(0)


def _matched(count: int) -> Iterator[Row]:
    """Batches while another thread subscribes without end, by those of an engine in memory, in turns."""
    draw = random.Random(3)
    events = [{"model": f"m{draw.randint(1, 999)}", "price": draw.randint(1, 999)} for _ in range(_EVENTS)]
    memory = tocsin.Engine()
    memory.subscribe_many(_records(count))
    with tempfile.TemporaryDirectory() as folder, tocsin.Engine.open(folder) as engine:
        engine.subscribe_many(_records(count))
        ours: list[float] = []
        theirs: list[float] = []
        gc.collect()
        gc.freeze()  # the records and events here would be looked through in some calls, and not in others
        for number in range(2 * _ROUNDS):
            for one, taken in ((memory, theirs), (engine, ours)):
                with _Changing(one, number):
                    calls = [partial(one.match_batch, events, threads=1)] * _CALLS
                    taken.append(wall_seconds(lambda calls=calls: [call() for call in calls]))
    gc.unfreeze()
    rate, alone = (_CALLS * _EVENTS / statistics.median(one) for one in (ours, theirs))
    note = f"{rate / alone:.2f} of an engine in memory, {alone:,.0f}, with 200 changes/s"
    yield Row("match", f"{count:,}", "match_batch", rate, "events/s", note)


class _Changing:
    """A thread that makes 200 changes a second."""

    def __init__(self, engine: Any, number: int) -> None:
        self._engine, self._number, self._ends = engine, number, threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        i = 0
        while not self._ends.wait(0.005):
            self._engine.subscribe(f"{self._number}-{i}", "price < 1", replace=True)
            i += 1

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *raised: object) -> None:
        self._ends.set()
        self._thread.join()
