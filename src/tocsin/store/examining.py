"""Examination of a store: the database by SQLite's own check, then what it holds by a function.

A server checks its stores now and then, while they are written.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.errors import StoreError
from tocsin.store.connections import is_damage
from tocsin.store.database import Database

_FIXED: Final = (3, 51, 3)
"""The first version of SQLite without the race of two connections that fold the log at once."""


class Finding(NamedTuple):
    """What was looked at, and what is wrong with it; empty if nothing is."""

    about: str
    problem: str = ""


def examine_store(folder: Path, contents: Callable[[Database], Iterator[Finding]]) -> Iterator[Finding]:
    """Examine a store, and by `contents` what a database that is sound holds."""
    try:
        database = Database.open(folder, read_only=True)
    except StoreError as error:
        yield Finding("store", str(error))
        return
    with closing(database):
        problems = database.problems()
        for problem in problems:
            yield Finding("store", f"SQLite finds: {problem}")
        if problems:
            return
        yield from contents(database)
    if sqlite3.sqlite_version_info < _FIXED:
        yield Finding(
            f"SQLite {sqlite3.sqlite_version}: up to 3.51.2, two connections that fold the log at the same moment can "
            "lose changes; tocsin folds it from one, and so must other programs that write to the database"
        )


_WHOLE: Final = 256 << 20
"""Larger databases are checked table by table, so that each read transaction is short."""


class Check(NamedTuple):
    """What SQLite's quick check of a database found, and how long it took."""

    damage: str | None
    failure: str | None  # why it could not be made, or not to its end
    seconds: float

    @property
    def result(self) -> str:
        """The outcome in a word."""
        return "damaged" if self.damage else "unfinished" if self.failure else "sound"


class Checking:
    """A check of a store that others write meanwhile. `stop` ends it early, on another thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_stopped = False
        self._database: Database | None = None

    def run(self) -> Check:
        """Check the database. It is closed afterwards."""
        begun = time.perf_counter()
        damage = failure = None
        try:
            with closing(Database.open(self._folder, read_only=True)) as self._database:
                damage, is_whole = self._found(self._database)
            failure = None if is_whole else "it was stopped, because it took long"
        except (StoreError, sqlite3.Error) as error:
            damage, failure = (str(error), None) if is_damage(error) else (None, str(error))
        self._database = None
        return Check(damage, failure, time.perf_counter() - begun)

    def _found(self, database: Database) -> tuple[str | None, bool]:
        """The first problem that SQLite finds, if there is one, and whether everything was looked at."""
        for table in [None] if database.bytes <= _WHOLE else database.tables():
            if self._is_stopped:
                return None, False
            problems = database.problems(table)
            if problems:
                return problems[0], True
        return None, not self._is_stopped

    def stop(self) -> None:
        """End the check as soon as SQLite can."""
        self._is_stopped = True
        database = self._database
        if database is not None:
            database.interrupt()
