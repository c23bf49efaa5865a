"""Examination of a durable engine's folder: the database by SQLite's own check, and the index by the database."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.engine import Engine
from tocsin.errors import SegmentError
from tocsin.segment import IndexFolder
from tocsin.segment.storage import MANIFEST
from tocsin.store import Database, Finding, Writer, examine_store

_MOST_NAMED: Final = 3


def examine(folder: Path) -> Iterator[Finding]:
    """Examine both halves of a store. Cost: reads everything once; matches nothing."""
    return examine_store(folder, _contents)


def _contents(database: Database) -> Iterator[Finding]:
    sequence = database.sequence
    yield Finding(f"store: {database.count():,} subscriptions, change {sequence:,}, {database.identity.store[:8]}")
    yield from _index(database.folder, database, sequence)


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
    table = reader.subscription_table()
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
    Writer(folder, "full").close()  # before anything is deleted
    (folder / MANIFEST).unlink(missing_ok=True)
    engine = Engine.open(folder)
    with engine:
        engine.checkpoint()
        return len(engine)
