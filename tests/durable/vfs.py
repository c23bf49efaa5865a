"""SQLite through apsw, with a file system that can die before any write, and that knows what was synced."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import apsw

SYNCED: Final = ".synced"
"""Beside each file, its content as of the last sync: what a power cut leaves."""


class Mortal(apsw.VFS):
    """A file system that calls `step` before each write, sync and truncation."""

    def __init__(self, name: str, step: Any) -> None:
        self.name, self._step = name, step
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> MortalFile:  # noqa: N802
        return MortalFile(name, flags, self._step)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        self._step()
        super().xDelete(name, sync)
        Path(name + SYNCED).unlink(missing_ok=True)


class MortalFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], step: Any) -> None:
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._step = step
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._step()
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._step()
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._step()
        super().xSync(flags)
        if self._path:
            shutil.copyfile(self._path, self._path + SYNCED)


def cut_power(folder: Path) -> None:
    """Leave of the database and its log what was synced."""
    for path in [one for one in folder.iterdir() if one.name.startswith("store.db") and one.suffix != SYNCED]:
        synced = Path(str(path) + SYNCED)
        if path.name.endswith("-shm") or not synced.exists():
            path.unlink()  # what was never synced is gone; shared memory is not on the disk
        else:
            shutil.copyfile(synced, path)
    for path in folder.glob(f"*{SYNCED}"):
        path.unlink()


class Steps:
    """Counts steps; the process dies before the one with a number."""

    def __init__(self, last: int, has_happened: Any, status: int) -> None:
        self._steps, self._last, self._has_happened, self._status = itertools.count(), last, has_happened, status

    def __call__(self) -> None:
        if next(self._steps) == self._last:
            self._has_happened.value = True
            os._exit(self._status)


class Connection:
    """An apsw connection with the methods of `sqlite3` that the store uses."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Result:
        with _Converting():
            before = self._connection.total_changes()
            rows = self._connection.execute(statement, values).fetchall()
            return Result(rows, self._connection.total_changes() - before)

    def executemany(self, statement: str, rows: Any) -> None:
        with _Converting():
            self._connection.executemany(statement, rows)

    def executescript(self, statements: str) -> None:
        self.execute(statements)

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    @property
    def total_changes(self) -> int:
        return self._connection.total_changes()

    def close(self) -> None:
        self._connection.close()


class Result:
    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows, self.rowcount = rows, rowcount

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class _Converting:
    """Converts apsw's errors."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, apsw.Error):
            raise sqlite3.OperationalError(str(error)) from error


def connect(vfs: str) -> Any:
    """A replacement of the store's own function that opens a database."""

    def opened(place: Path, mode: str) -> Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if mode == "rwc" else 0)
        connection = apsw.Connection(str(place), flags=flags, vfs=vfs)
        connection.set_busy_timeout(10_000)
        return Connection(connection)

    return opened
