"""A store has one writer, also if somebody deletes the file of its lock."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import tocsin
from tocsin.errors import StoreError
from tocsin.store.owner import OWNER, Alive

WRITE = """
import sys, tocsin
engine = tocsin.Engine.open(sys.argv[1])
engine.subscribe("s", "n = 1")
print("open", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(Alive.of(os.getpid()) is None, reason="the system does not tell which processes run")


def test_a_second_writer_is_refused_although_the_lock_was_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    writer = subprocess.Popen([sys.executable, "-c", WRITE, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout is not None and writer.stdout.readline() == b"open\n"
    (folder / OWNER).unlink()
    with pytest.raises(StoreError, match=f"is open for writing in process {writer.pid}, although {OWNER} was deleted"):
        tocsin.Engine.open(folder)
    with tocsin.Engine.open(folder, read_only=True) as reader:
        assert list(reader) == ["s"]
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    with tocsin.Engine.open(folder) as engine:
        assert list(engine) == ["s"]


@pytest.mark.parametrize("change", [{"started": 1}, {"boot": "another"}, {"process": 2**22 - 1}])
def test_a_process_of_another_time_is_no_writer(tmp_path: Path, change: dict[str, object]) -> None:
    """A number of a process is used again, and a folder is moved to another machine."""
    with tocsin.Engine.open(tmp_path / "alerts"):
        """Make the store."""
    parent = Alive.of(os.getppid())
    assert parent is not None
    with sqlite3.connect(tmp_path / "alerts" / "store.db") as connection:
        row = json.dumps(parent._replace(**change))  # type: ignore[arg-type]
        assert connection.execute("UPDATE meta SET value = ? WHERE name = 'writer'", (row,)).rowcount == 1
    with tocsin.Engine.open(tmp_path / "alerts") as engine:
        assert list(engine) == []
