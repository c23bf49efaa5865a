"""tocsin update: changes of subscriptions into an index folder, while jobs and streams continue to read it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tocsin.cli.options import Commands, add_errors, add_format, add_index, new_command, said
from tocsin.cli.progress import ShareBar
from tocsin.cli.rejects import counted, refuse_file, refuse_overwriting, reject_log, warn
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.records.change_records import changes_extras, read_change_records
from tocsin.records.changes import CHANGES, read_changes
from tocsin.segment import IndexFolder
from tocsin.segment.amending import KEEP_S, amend
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
    given.changes = said(given.changes, given.format)
    refuse_overwriting([given.changes], [given.errors])
    refuse_file(given.folder)
    is_new = not (Path(given.folder) / MANIFEST).exists()
    counts, unknown = dict.fromkeys(("inserted", "updated", "deleted", "rescored", "superseded"), 0), 0
    extras = changes_extras()
    with reject_log(given.errors) as log:
        with ShareBar("taking changes") as bar:
            for chunk in read_change_records(given.changes, _kind(given.folder), extras):
                log.add("change", chunk.rejects)
                if chunk.rows:
                    taken = amend(given.folder, read_changes(chunk.table), plan, keep_s=given.keep)
                    log.add("change", (reject._replace(row=chunk.rows[reject.row]) for reject in taken.rejects))
                    for name in counts:
                        counts[name] += getattr(taken, name)
                    unknown += taken.unknown
                bar.update(chunk.done)
        log.finish()
        warn(extras.warnings())
        merges = compact(given.folder, plan, keep_s=given.keep) if any(counts.values()) else 0
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        print(f"{told}, {log.count:,} rejected; {counted(merges, 'merge')} of small parts")
        if unknown:
            was = "was" if unknown == 1 else "were"
            print(f"{unknown:,} of the deleted {was} not in the index: misspelt, or deleted before", file=sys.stderr)
        if is_new and any(counts.values()):
            print(f"{given.folder} is a new index")
    log.require("change", sum(counts.values()), given.changes)
    return log.status()


def _kind(folder: str) -> type | None:
    """The type of an index's ids; None if it has no subscriptions yet."""
    if not (Path(folder) / MANIFEST).exists():
        return None
    index = IndexFolder.read(folder)
    return None if not index.subscriptions else str if index.ids == "string" else int
