"""A store among endless readers, folders that cannot be written, files that a power cut left half, and Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.durable.killing import FORK
from tests.durable.test_stores import filled, ids
from tests.waiting import awaited
from tocsin import StoreError
from tocsin.store import database as stores


def test_a_reader_that_never_ends_makes_no_change_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log grows meanwhile, and the engine says so; then it is truncated."""
    monkeypatch.setattr(stores, "_LARGE_WAL", 1 << 16)
    monkeypatch.setattr(stores, "ALARMING_LOG", 1 << 18)
    waited: list[int] = []
    with tocsin.Engine.open(filled(tmp_path)) as engine, closing(sqlite3.connect(tmp_path / "store.db")) as reader:
        engine._database._connection.set_trace_callback(
            lambda statement: waited.append(int(statement.split("=")[1])) if "busy_timeout" in statement else None
        )
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM subscriptions").fetchall()
        for number in range(10):
            engine.subscribe(f"long {number}", "n = 1", payload="x" * 100_000)
        awaited(lambda: "has grown to" in (engine.log_error or ""))
        assert engine.log_bytes > 1 << 18 and set(waited[::2]) == {0}
        reader.execute("COMMIT")
        awaited(lambda: engine.log_bytes == 0 and engine.log_error is None)
    assert len(ids(tmp_path)) == 13


def without_rights(folder: Path, told: Any) -> None:
    """In a child that may read, and write nothing: what opening says, and what a reader answers."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        tocsin.Engine.open(folder)
    except StoreError as error:
        told.put(str(error))
    try:
        tocsin.Engine.open(folder, read_only=True)
    except StoreError as error:
        told.put(str(error))
    told.put(list(tocsin.Engine.load(folder)))
    os._exit(0)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user reaches; pytest keeps its own from others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_folder_that_cannot_be_written_is_told_and_read(public: Path) -> None:
    folder = filled(public / "alerts")
    (folder / "store.db").chmod(0o644)  # its owner lets others read it
    folder.chmod(0o555)
    told = FORK.SimpleQueue()
    child = FORK.Process(target=without_rights, args=(folder, told))
    child.start()
    child.join(60)
    folder.chmod(0o755)
    assert child.exitcode == 0
    assert told.get() == f"{folder} cannot be written by this user; open it with read_only=True"
    assert told.get() == (
        f"{folder} cannot be written, and SQLite makes files beside a store that no process has open; read a copy, or "
        "the index with Engine.load"
    )
    assert told.get() == ["s0", "s1", "s2"]


@pytest.mark.parametrize("harm", ["empty", "half", "zeros", "gone"])
def test_whatever_a_power_cut_leaves_of_the_index(harm: str, tmp_path: Path) -> None:
    """File systems may lose the contents of renamed files, or the files. The answers are those of the store."""
    whole = filled(tmp_path / "whole")
    with tocsin.Engine.open(whole) as engine:
        engine.unsubscribe("s1")
        engine.rescore("s2", 7.0)
        engine.subscribe("later", "n = 1")
    files = [one.relative_to(whole) for one in whole.rglob("*") if one.is_file() and "store." not in one.name]
    assert len(files) > 5
    for number, name in enumerate(files):
        folder = shutil.copytree(whole, tmp_path / str(number))
        data = (folder / name).read_bytes()
        if harm == "gone":
            (folder / name).unlink()
        else:
            (folder / name).write_bytes({"empty": b"", "half": data[: len(data) // 2], "zeros": bytes(len(data))}[harm])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with tocsin.Engine.open(folder) as engine:
                held = {one: engine.get(one)["score"] for one in engine}
                found = sorted(match.subscription for match in engine.match({"n": 1}))
        assert (held, found) == ({"later": 1.0, "s0": 1.0, "s2": 7.0}, ["later", "s0"]), name


def test_an_interrupted_change_is_made_or_not(tmp_path: Path) -> None:
    """Ctrl-C may come while a change is committed. The engine goes on, and memory and store stay alike."""
    interrupted = 0
    with tocsin.Engine.open(tmp_path) as engine:
        for number in range(40):
            timer = threading.Timer(0.0002 * (number % 8), signal.raise_signal, [signal.SIGINT])
            try:
                timer.start()
                engine.subscribe(f"s{number}", f"n >= {number}")
                engine.subscribe(f"t{number}", f"n >= {number}")
                timer.join()
                time.sleep(0.01)  # the signal is handled here at the latest
            except KeyboardInterrupt:
                interrupted += 1
                timer.join()
        engine.subscribe("last", "n = 1")
        held = sorted(engine)
    assert interrupted == 40
    assert "last" in held and ids(tmp_path) == held
