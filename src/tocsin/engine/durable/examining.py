"""Examination of a durable engine's folder: the database by SQLite's own check, and the index by the database."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.engine import Engine
from tocsin.errors import SegmentError, StoreError
from tocsin.segment import IndexFolder
from tocsin.segment.storage import MANIFEST
from tocsin.store import Database, Owner

_FIXED: Final = (3, 51, 3)
"""The first version of SQLite without the race of two connections that fold the log at once."""
_MOST_NAMED: Final = 3


class Finding(NamedTuple):
    """What was looked at, and what is wrong with it; empty if nothing is."""

    about: str
    problem: str = ""


def examine(folder: Path) -> Iterator[Finding]:
    """Examine both halves of a store. Cost: reads everything once; matches nothing."""
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
        sequence = database.sequence
        yield Finding(f"store: {database.count():,} subscriptions, change {sequence:,}, {database.identity.store[:8]}")
        yield from _index(folder, database, sequence)
    if sqlite3.sqlite_version_info < _FIXED:
        yield Finding(
            f"SQLite {sqlite3.sqlite_version}: up to 3.51.2, two connections that fold the log at the same moment can "
            "lose changes; tocsin folds it from one, and so must other programs that write to the database"
        )


def _index(folder: Path, database: Database, sequence: int) -> Iterator[Finding]:
    if not (folder / MANIFEST).exists():
        yield Finding("index: none; it is written at the next checkpoint")
        return
    try:
        mark = IndexFolder.read(folder).store
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the index is of no use, and the engine says why
            reader = Engine.open(folder, read_only=True)
    except (SegmentError, UserWarning) as error:
        yield Finding("index", str(error))
        return
    with reader:
        behind = sequence - (mark.sequence if mark is not None else 0)
        wrong = _differences(reader, database)
        named = ", ".join(map(repr, wrong[:_MOST_NAMED]))
        about = f"index: change {sequence - behind:,}, {behind:,} behind"
        more = "" if len(wrong) <= _MOST_NAMED else " and more"
        yield Finding(about if not wrong else "index", named and f"{len(wrong):,} subscriptions differ: {named}{more}")


def _differences(reader: DurableEngine, database: Database) -> list[str | int]:
    """The ids of subscriptions that the index, with the changes since it was written, does not have as the store."""
    table = reader.subscriptions()
    columns = (table[name].to_pylist() for name in ("id", "where", "score", "payload", "weights"))
    held = {id: rest for id, *rest in zip(*columns, strict=True)}
    wrong = []
    for row in database.rows():
        if row.sequence > reader.sequence:  # it was changed meanwhile
            held.pop(row.id, None)
        elif held.pop(row.id, None) != [row.condition, row.score, row.payload, row.weights]:
            wrong.append(row.id)
    return wrong + list(held)


def rebuild(folder: Path) -> int:
    """Write the index again from the store; returns the number of subscriptions.

    Raises `StoreError` if another process writes the folder, or the store is damaged.
    """
    Owner(folder).release()  # before anything is deleted
    (folder / MANIFEST).unlink(missing_ok=True)
    engine = Engine.open(folder)
    with engine:
        engine.checkpoint()
        return len(engine)
