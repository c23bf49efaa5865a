"""tocsin update: changes of subscriptions into an index folder, while jobs and streams continue to read it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tocsin.cli.folders import require_own_folder
from tocsin.cli.options import Commands, add_errors, add_format, add_index, new_command, said
from tocsin.cli.rejects import counted, refuse_overwriting, reject_log, warn
from tocsin.engine import DurableEngine, Engine
from tocsin.engine.durable.current import is_store
from tocsin.errors import InvalidInput
from tocsin.index import Plan, choose
from tocsin.progress import ShareBar
from tocsin.records.change_records import changes_extras, read_change_records
from tocsin.records.changes import CHANGES, ChangeBatch, read_changes
from tocsin.segment import IndexFolder
from tocsin.segment.amending import KEEP_S, Amendment, amend
from tocsin.segment.compacting import compact
from tocsin.segment.folder import saved_statistics
from tocsin.segment.storage import MANIFEST


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "update",
        help="apply changes of subscriptions to an index folder",
        description="Applies changes of subscriptions to an index folder: inserts, updates, deletes and new scores. "
        "Programs that read the folder continue without interruption.",
        examples=("tocsin update index/ changes.jsonl", "tocsin update index/ changes.parquet --keep 86400"),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the index folder; created if it does not exist")
    parser.add_argument(
        "changes",
        metavar="CHANGES",
        help=f"a file of records with id, change ({', '.join(CHANGES)}) and version; or - for standard input",
    )
    add_format(parser)
    add_index(parser, "build for new subscriptions")
    parser.add_argument(
        "--keep",
        type=float,
        default=KEEP_S,
        metavar="SECONDS",
        help="how long to keep older versions, in seconds (default: %(default)g)",
    )
    add_errors(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    plan = choose(given.index, saved_statistics(given.folder))
    if not given.keep >= 0:
        raise InvalidInput(f"--keep is {given.keep:g}; it must be at least 0 seconds")
    if given.keep != KEEP_S and is_store(given.folder):
        raise InvalidInput(f"--keep is {given.keep:g}, but {given.folder} is a durable engine's; leave the option out")
    given.changes = said(given.changes, given.format)
    refuse_overwriting([given.changes], [given.errors])
    require_own_folder(given.folder)
    is_new = not (Path(given.folder) / MANIFEST).exists()
    counts, unknown = dict.fromkeys(("inserted", "updated", "deleted", "rescored", "superseded"), 0), 0
    extras = changes_extras()
    with reject_log(given.errors) as log, _amending(given, plan) as amending:
        with ShareBar("taking changes") as bar:
            for chunk in read_change_records(given.changes, amending.kind, extras):
                log.add("change", chunk.rejects)
                if chunk.rows:
                    taken = amending.take(read_changes(chunk.table))
                    log.add("change", (reject._replace(row=chunk.rows[reject.row]) for reject in taken.rejects))
                    for name in counts:
                        counts[name] += getattr(taken, name)
                    unknown += taken.unknown
                bar.update(chunk.done)
        log.finish()
        warn(extras.warnings())
        merges = amending.compact() if any(counts.values()) else 0
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        merged = "" if is_store(given.folder) else f"; {counted(merges, 'merge')} of small parts"
        print(f"{told}, {log.count:,} rejected{merged}")
        if unknown:
            was = "was" if unknown == 1 else "were"
            print(f"{unknown:,} of the deleted {was} not in the index: misspelt, or deleted before", file=sys.stderr)
        if is_new and any(counts.values()):
            print(f"{given.folder} is a new index")
    log.require("change", sum(counts.values()), given.changes)
    return log.status()


class _Amending(Protocol):
    """A folder that takes changes."""

    kind: type | None  # of its ids; None if it has no subscriptions yet

    def take(self, batch: ChangeBatch) -> Amendment: ...

    def compact(self) -> int: ...


@contextmanager
def _amending(given: argparse.Namespace, plan: Plan) -> Iterator[_Amending]:
    """The folder: an index, or that of a durable engine."""
    if not is_store(given.folder):
        yield _Index(given.folder, plan, given.keep)
        return
    engine = Engine.open(given.folder, index=given.index)
    with engine:
        yield _Store(engine)


class _Index:
    def __init__(self, folder: str, plan: Plan, keep_s: float) -> None:
        self._folder, self._plan, self._keep_s = folder, plan, keep_s
        index = IndexFolder.read(folder) if (Path(folder) / MANIFEST).exists() else None
        has_any = index is not None and index.subscriptions > 0
        self.kind: type | None = None if index is None or not has_any else str if index.ids == "string" else int

    def take(self, batch: ChangeBatch) -> Amendment:
        return amend(self._folder, batch, self._plan, keep_s=self._keep_s)

    def compact(self) -> int:
        return compact(self._folder, self._plan, keep_s=self._keep_s)


class _Store:
    def __init__(self, engine: DurableEngine) -> None:
        self._engine = engine
        self.kind: type | None = type(next(iter(engine))) if len(engine) else None

    def take(self, batch: ChangeBatch) -> Amendment:
        return self._engine.amend(batch)

    def compact(self) -> int:
        """Small parts are merged in the background."""
        return 0
