"""A store of an older version is opened, read and upgraded; whatever interrupts that, it is one or the other."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import tocsin
from tests.durable.killing import FORK, KILLED
from tests.saved.kept import FOLDER
from tocsin.cli.main import main
from tocsin.store import Database, connections
from tocsin.store.schema import VERSION


def of_version_1(folder: Path) -> Path:
    folder.mkdir()
    shutil.copyfile(FOLDER / "store_1" / "store.db", folder / "store.db")
    return folder


def version(folder: Path) -> int:
    with connections.connected(folder / "store.db", "ro") as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_writer_upgrades_an_older_store_and_has_all_of_it(tmp_path: Path) -> None:
    folder = of_version_1(tmp_path / "store")
    with tocsin.Engine.open(folder) as engine:
        assert (list(engine), engine.sequence, version(folder)) == (["city", "s1", "s2"], 5, VERSION)
        assert engine.get("s1") == {"id": "s1", "where": "n = 1", "score": 1.0, "payload": {"to": 1}}
        assert tocsin.Fences.open(folder, engine).inside(7) == ["city"]
        engine.subscribe("later", "n = 1")
    with tocsin.Engine.open(folder) as engine:
        assert "later" in engine
    assert tables(folder) == tables(made(tmp_path / "new"))


def test_a_reader_reads_an_older_store_as_it_is(tmp_path: Path, capsys: Any) -> None:
    folder = of_version_1(tmp_path / "store")
    with tocsin.Engine.open(folder, read_only=True) as reader:
        assert [one.subscription for one in reader.match({"n": 1})] == ["s1", "s2"]
        assert main(["doctor", str(folder)]) == 0
        assert "3 subscriptions" in capsys.readouterr().out
        assert version(folder) == 1
        with tocsin.Engine.open(folder) as writer:  # which upgrades the store under the reader
            writer.subscribe("later", "n = 1")
            assert (reader.lag, reader.refresh()) == (1, 6)
            assert "later" in reader


def test_an_upgrade_that_dies_before_any_statement(tmp_path: Path) -> None:
    for step in itertools.count():
        folder, has_happened = of_version_1(tmp_path / str(step)), FORK.Value("b", False)
        child = FORK.Process(target=upgrading, args=(folder, step, has_happened))
        child.start()
        child.join(60)
        assert child.exitcode == (KILLED if has_happened.value else 0)
        assert version(folder) in ((1, VERSION) if has_happened.value else (VERSION,))
        assert (version(folder) == VERSION) == ("window_messages" in tables(folder))
        with tocsin.Engine.open(folder) as engine:
            assert (list(engine), version(folder)) == (["city", "s1", "s2"], VERSION)
        if not has_happened.value:
            break
    assert step > 8


def upgrading(folder: Path, step: int, has_happened: Any) -> None:
    """In a child: open a store, and die before the SQL statement of a number."""
    steps, connect = itertools.count(), connections.connect

    def watch(statement: str) -> None:
        if next(steps) == step:
            has_happened.value = True
            os._exit(KILLED)

    def watched(place: Path, mode: str) -> sqlite3.Connection:
        connection = connect(place, mode)
        connection.set_trace_callback(watch)
        return connection

    connections.connect = watched
    Database.open(folder)
    os._exit(0)


def made(folder: Path) -> Path:
    folder.mkdir()
    Database.create(folder)
    return folder


def tables(folder: Path) -> dict[str, str]:
    """The tables and indexes of a store, by name."""
    with connections.connected(folder / "store.db", "ro") as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        return {name: "".join(sql.split()) for name, sql in found}
