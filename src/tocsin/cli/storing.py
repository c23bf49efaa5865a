"""tocsin doctor and tocsin export: what a folder of subscriptions holds, whether it is sound, and how to repair it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tocsin.cli.options import Commands, new_command
from tocsin.cli.rejects import counted, refuse_overwriting
from tocsin.engine import Engine
from tocsin.engine.durable.current import current_engine, is_store
from tocsin.engine.durable.examining import examine, rebuild
from tocsin.engine.holdings import export, write_records
from tocsin.errors import InvalidInput, SegmentError
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import IndexFolder, current_segments
from tocsin.store import holds_window, salvage
from tocsin.window.durable import examine_window

_ONLY_HELP: Final = "only subscriptions whose payload satisfies this condition, such as \"user = 'ann'\""


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "doctor",
        help="verify a folder of subscriptions, and repair its index",
        description="Verifies the folder of a durable engine: the database by SQLite's own check, and the index by the "
        "database. Of a durable window, it verifies the database, and that the window can be read. Of an index without "
        "a database, it verifies the checksums. The status is 1 if anything is wrong.",
        examples=("tocsin doctor alerts/", "tocsin doctor alerts/ --rebuild"),
    )
    parser.add_argument(
        "folder", metavar="FOLDER", help="the folder of a durable engine or a durable window, or an index folder"
    )
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="write the index again from the database; the engine must be closed",
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="copy a damaged write-ahead log and its database aside, then go on with what can be read; all must be "
        "closed",
    )
    parser.set_defaults(run=run_doctor)
    parser = new_command(
        commands,
        "export",
        help="write all subscriptions of a folder as JSON lines",
        description="Writes all subscriptions of a folder as JSON lines, which every command takes as SUBSCRIPTIONS.",
        examples=(
            "tocsin export alerts/ --out alerts.jsonl",
            "tocsin export alerts/ --only \"user = 'ann'\" | jq .where",
        ),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a durable engine, or an index folder")
    parser.add_argument("--only", metavar="TEXT", help=_ONLY_HELP)
    parser.add_argument("--out", metavar="FILE", help="the file (default: standard output)")
    parser.set_defaults(run=run_export)
    parser = new_command(
        commands,
        "unsubscribe",
        help="remove subscriptions from the folder of a durable engine",
        description="Removes subscriptions from the folder of a durable engine, all of them or none: those with some "
        "ids, or those whose payload satisfies a condition. Ask a service that has the folder open with DELETE "
        "/v1/subscriptions?only= instead.",
        examples=("tocsin unsubscribe alerts/ s1 s2", "tocsin unsubscribe alerts/ --only \"user = 'ann'\" --dry-run"),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a durable engine")
    parser.add_argument("ids", metavar="ID", nargs="*", help="the id of a subscription")
    parser.add_argument("--only", metavar="TEXT", help=_ONLY_HELP)
    parser.add_argument("--dry-run", action="store_true", help="count only, and remove nothing")
    parser.set_defaults(run=run_unsubscribe)


def run_doctor(given: argparse.Namespace) -> int:
    folder = Path(given.folder)
    if given.salvage:
        _salvage(folder)
    is_window = holds_window(folder)
    if given.rebuild:
        if is_window:
            raise InvalidInput(f"{folder} has a window, which has no index; leave --rebuild out")
        if not is_store(folder):
            raise InvalidInput(f"{folder} has no database to rebuild the index from; compile the subscriptions again")
        print(f"index: written again, {counted(rebuild(folder), 'subscription')}")
    if not is_store(folder):
        return _examine_index(folder)
    findings = [*(examine_window(folder) if is_window else examine(folder))]
    for one in findings:
        print(f"{one.about}: {one.problem}" if one.problem else one.about)
    wrong = sum(1 for one in findings if one.problem)
    if any(one.problem and one.about == "index" for one in findings):
        print(f"`tocsin doctor {folder} --rebuild` writes the index again from the database", file=sys.stderr)
    return 1 if wrong else 0


def _salvage(folder: Path) -> None:
    if not is_store(folder):
        raise InvalidInput(f"{folder} has no database, whose log could be salvaged")
    aside = salvage(folder)
    print("log: not damaged" if aside is None else f"log: what can be read is kept; {aside} has the files as they were")


def _examine_index(folder: Path) -> int:
    try:
        current_segments(folder)
    except SegmentError as error:
        print(f"index: {error}")
        return 1
    print(f"index: {counted(IndexFolder.read(folder).subscriptions, 'subscription')}, whole")
    return 0


def run_export(given: argparse.Namespace) -> int:
    refuse_overwriting([], [given.out])
    with current_engine(given.folder) as engine:
        table = engine.subscription_table(only=given.only)
    if given.out is None:
        write_records(table, sys.stdout)
        return 0
    export(table, given.out)
    print(f"{counted(len(table), 'subscription')} in {given.out}")
    return 0


def run_unsubscribe(given: argparse.Namespace) -> int:
    if bool(given.ids) == (given.only is not None):
        raise InvalidInput("give either ids, or a condition on payloads with --only")
    if not is_store(given.folder):
        raise InvalidInput(
            f"{given.folder} is not the folder of a durable engine; `tocsin update` deletes from an index"
        )
    with current_engine(given.folder) if given.dry_run else Engine.open(given.folder) as engine:
        ids = _ids(engine, given.ids) if given.ids else None
        removed, unknown = engine.unsubscribe_many(ids, only=given.only, dry_run=given.dry_run)
    print(f"{counted(removed, 'subscription')} {'would be removed' if given.dry_run else 'removed'}")
    if unknown:
        print(f"no such subscription: {', '.join(map(str, unknown))}", file=sys.stderr)
    return 1 if unknown else 0


def _ids(engine: Engine, texts: Sequence[str]) -> list[SubscriptionId]:
    """Ids as an engine has them: in one whose ids are integers, numbers are integers."""
    has_integers = type(next(iter(engine), None)) is int
    return [int(text) if has_integers and text.removeprefix("-").isdecimal() else text for text in texts]
