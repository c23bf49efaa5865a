"""Examination of a store: the database by SQLite's own check, then what it holds by a function."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.errors import StoreError
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
