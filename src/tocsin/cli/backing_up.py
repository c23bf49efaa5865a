"""tocsin backup and tocsin restore: copies of a folder while it is served, and the way back."""

from __future__ import annotations

import argparse
from pathlib import Path

from tocsin.cli.options import Commands, new_command
from tocsin.cli.rejects import counted
from tocsin.progress import ShareBar
from tocsin.service.backups import Backup, back_up, restore


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "backup",
        help="copy a folder of subscriptions while it is served",
        description="Copies the store of a durable engine or window, or all that `tocsin serve` has in a folder: "
        "tenants, windows, events, deliveries and the hashes of tokens. A server may run meanwhile. Keys of secrets "
        "and the file of --limits are not in the folder, and not in the backup.",
        examples=("tocsin backup alerts/ backups/monday", "tocsin backup /var/lib/tocsin/alerts /backups/monday"),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder that is copied")
    parser.add_argument("backup", metavar="BACKUP", help="a new folder, which gets its name when all is verified")
    parser.set_defaults(run=run_backup)
    parser = new_command(
        commands,
        "restore",
        help="make a folder from a backup",
        description="Makes a folder from what `tocsin backup` wrote, and verifies it: the digest of each file, the "
        "databases by SQLite's own check, and their versions. The backup stays as it is.",
        examples=(
            "tocsin restore backups/monday alerts/",
            "tocsin restore /backups/monday trial/",
        ),
    )
    parser.add_argument("backup", metavar="BACKUP", help="a folder that `tocsin backup` wrote")
    parser.add_argument("folder", metavar="FOLDER", help="a new folder, which gets its name when all is verified")
    parser.set_defaults(run=run_restore)


def run_backup(given: argparse.Namespace) -> int:
    with ShareBar("backup") as bar:
        backup = back_up(Path(given.folder), Path(given.backup), bar.update)
    print(f"{_contents(backup)} in {given.backup}")
    return 0


def run_restore(given: argparse.Namespace) -> int:
    with ShareBar("restore") as bar:
        backup = restore(Path(given.backup), Path(given.folder), bar.update)
    print(f"{_contents(backup)} of {backup.made}, by tocsin {backup.release}, in {given.folder}")
    return 0


def _contents(backup: Backup) -> str:
    tokens = "" if backup.stores == len(backup.files) else " and the tokens"
    return f"{counted(backup.stores, 'store')}{tokens}, {backup.bytes / 1e6:,.2f} MB,"
