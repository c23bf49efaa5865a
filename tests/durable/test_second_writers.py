"""A store has one writer, also after somebody deleted its lock file; nobody else is taken for a second one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import tocsin
from tests.waiting import HANG_S, awaited
from tocsin.engine.durable import examining
from tocsin.errors import StoreError
from tocsin.store import owner

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has locks that are not those of SQLite")
WRITE = """
import sys
from pathlib import Path
from tocsin.store import Writer
folder = Path(sys.argv[1])
for name in sys.argv[2:]:
    (folder / name).unlink()
Writer(folder, "full").close()
"""
STAY = "import sys, time, tocsin; e = tocsin.Engine.open(sys.argv[1]); print('open', flush=True); time.sleep(999)"


def error_of_writer(folder: Path, *deleted: str) -> str:
    """Let another process delete files, and then open a store for writing; returns its error, or nothing."""
    command = [sys.executable, "-c", WRITE, str(folder), *deleted]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def names_me(folder: Path) -> bool:
    return f'"process": {os.getpid()}' in (folder / "store.lock").read_text()


@LINUX
@pytest.mark.filterwarnings("ignore:.*was deleted, and is made again")
def test_a_second_process_is_refused_without_the_lock_file(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path) as engine:
        engine.subscribe("first", "n = 1")
        assert "although store.lock was deleted meanwhile" in error_of_writer(tmp_path, "store.lock")
        engine.subscribe("again", "n = 1")
    with tocsin.Engine.open(tmp_path) as engine:
        assert sorted(engine) == ["again", "first"]


@LINUX
def test_a_second_writer_of_this_process_is_refused_and_takes_no_lock_away(tmp_path: Path) -> None:
    """Neither that of the first one, nor those of SQLite, which end with any descriptor of the file."""
    with tocsin.Engine.open(tmp_path) as engine, tocsin.Engine.open(tmp_path, read_only=True) as reader:
        engine.subscribe("first", "n = 1")
        before = locks_of(tmp_path / "store.db")
        for _ in range(3):
            (tmp_path / "store.lock").unlink(missing_ok=True)
            with pytest.raises(StoreError, match=r"although store\.lock was deleted meanwhile"):
                tocsin.Engine.open(tmp_path)
            assert locks_of(tmp_path / "store.db") == before
        assert len(before) >= 2 and reader.refresh() == 1


def locks_of(database: Path) -> list[str]:
    """The kinds of the locks on a file, as Linux lists them."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sorted(" ".join(line[1:4] + line[6:]) for line in lines if line[5].endswith(f":{database.stat().st_ino}"))


@LINUX
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_lock_file_that_is_gone_is_made_again(tmp_path: Path, is_replaced: bool) -> None:
    with pytest.warns(UserWarning, match="was deleted, and is made again"), tocsin.Engine.open(tmp_path) as engine:
        (tmp_path / "store.lock").unlink()
        if is_replaced:
            (tmp_path / "store.lock").write_text("{}")
        awaited(lambda: names_me(tmp_path), OSError)
        with pytest.raises(StoreError, match=f"process {os.getpid()} on"):
            tocsin.Engine.open(tmp_path)
        engine.subscribe("first", "n = 1")


@LINUX
def test_a_window_has_one_writer_too(tmp_path: Path) -> None:
    with tocsin.Window.open(tmp_path, size=9, bounds=(0, 0, 9, 9)) as window:
        (tmp_path / "store.lock").unlink()
        with pytest.raises(StoreError, match=r"although store\.lock was deleted meanwhile"):
            tocsin.Window.open(tmp_path)
        window.push(words=["a"], location=(1, 1))


@LINUX
def test_the_doctor_deletes_no_index_that_is_in_use(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path) as engine:
        engine.subscribe("first", "n = 1")
        engine.checkpoint()
        files = sorted(file.name for file in tmp_path.iterdir() if file.name.startswith("manifest"))
        (tmp_path / "store.lock").unlink()
        with pytest.raises(StoreError, match="open for writing"):
            examining.rebuild(tmp_path)
        assert sorted(file.name for file in tmp_path.iterdir() if file.name.startswith("manifest")) == files


def test_nobody_else_is_taken_for_a_writer(tmp_path: Path) -> None:
    """Neither a copy, nor a process that closed the store or was killed."""
    folder, copy = tmp_path / "alerts", tmp_path / "copy"
    process = subprocess.Popen([sys.executable, "-c", STAY, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "open\n"
    shutil.copytree(folder, copy)
    with tocsin.Engine.open(copy) as engine:
        engine.subscribe("of the copy", "n = 1")
    with pytest.raises(StoreError, match=f"process {process.pid} on"):
        tocsin.Engine.open(folder)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANG_S)
    for turn in range(3):
        with tocsin.Engine.open(folder) as engine, tocsin.Engine.open(copy):
            engine.subscribe(turn, "n = 1")


def test_without_such_locks_a_rival_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: the first writer makes no change while there is a second one, and says so."""
    monkeypatch.setattr(owner, "_descriptors", lambda database: set[int]())
    with tocsin.Engine.open(tmp_path) as engine, pytest.warns(UserWarning, match="is made again"):
        engine.subscribe("first", "n = 1")
        (tmp_path / "store.lock").unlink()
        second = tocsin.Engine.open(tmp_path)

        def is_refused() -> bool:
            with pytest.raises(StoreError, match=f"it is also open for writing in process {os.getpid()}"):
                engine.rescore("first", 2.0)
            return True

        awaited(is_refused, pytest.fail.Exception)
        second.close()
        awaited(lambda: engine.rescore("first", 3.0) is None, StoreError)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_database_that_was_deleted_takes_no_more_changes(tmp_path: Path, is_replaced: bool) -> None:
    """They would be acknowledged, and lost. The folder is not made again."""
    folder = tmp_path / "alerts"
    engine = tocsin.Engine.open(folder)
    engine.subscribe("first", "n = 1")
    if is_replaced:
        copy = shutil.copy(folder / "store.db", tmp_path / "store.db")
        Path(copy).replace(folder / "store.db")
    else:
        shutil.rmtree(folder)

    def is_refused() -> bool:
        with pytest.raises(StoreError, match="its database was deleted or replaced while it was open"):
            engine.rescore("first", 2.0)
        return True

    awaited(is_refused, pytest.fail.Exception)
    assert len(engine.match({"n": 1})) == 1
    assert folder.exists() == is_replaced
    with pytest.warns(UserWarning, match="the index was not written"), suppress(StoreError):
        engine.close()
