"""Opening the folder of a durable engine, and making one, also from an index that was saved."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.engine import Engine
from tocsin.engine.subscription_set import DELTA_LIMIT
from tocsin.errors import InvalidInput
from tocsin.model.texts import Text
from tocsin.schemas import checked_texts
from tocsin.segment.storage import MANIFEST
from tocsin.store import DATABASE, Database, Rows, Writer, check_sync, require_local, require_no_window


def open_engine(
    folder: str | Path,
    *,
    read_only: bool = False,
    sync: str = "full",
    index: str = "auto",
    delta_limit: int = DELTA_LIMIT,
    texts: Mapping[str, Text | str] | None = None,
) -> DurableEngine:
    """Open or create a durable engine, as `Engine.open` describes."""
    place, own = Path(folder), checked_texts(texts)
    check_sync(sync)
    require_local(place)
    writer = None if read_only else Writer(place, sync, lambda new: _create(new, own))
    database = Database.open(place, read_only=True) if writer is None else writer.database
    try:
        require_no_window(database)
        return DurableEngine(database, writer, index, delta_limit, _texts_of(database, own, place))
    except BaseException:
        (database if writer is None else writer).close()
        raise


def _create(folder: Path, texts: Mapping[str, Text]) -> None:
    """Make the store of a folder. The subscriptions of an index that `save` or `compile` wrote are copied."""
    held = Engine.load(folder) if (folder / MANIFEST).exists() else Engine()
    given = {**held._texts, **texts}

    def fill(database: Database) -> None:
        database.put_meta("texts", json.dumps({name: str(how) for name, how in given.items()}))
        table = held.subscription_table()
        names, count = ("id", "where", "score", "payload", "weights"), len(table)
        ids, sources, scores, payloads, weights = (table[name].to_pylist() for name in names)
        numbers, versions = range(1, count + 1), [None] * count
        database.subscriptions.put_all([Rows(ids, sources, scores, payloads, weights, numbers, versions)])

    Database.create(folder, fill)
    if len(held):
        warnings.warn(f"{folder} was an index; its {len(held):,} subscriptions were copied to {DATABASE}", stacklevel=6)


def _texts_of(database: Database, given: Mapping[str, Text], folder: Path) -> dict[str, Text]:
    """The attributes of a store that are texts; raises `InvalidInput` if the given ones contradict."""
    stored = database.texts
    for name, how in given.items():
        if stored.get(name) != how:
            was = f"has {str(stored[name])!r}" if name in stored else "does not have it"
            raise InvalidInput(
                f"texts gives {name!r} the type {str(how)!r}, but {folder} {was}; leave it out, or export the "
                "subscriptions into a new folder"
            )
    return stored
