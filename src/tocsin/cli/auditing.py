"""tocsin audit: who changed subscriptions and destinations of a folder over HTTP."""

from __future__ import annotations

import argparse
import json
import sqlite3
from pathlib import Path

from tocsin.cli.options import Commands, new_command
from tocsin.errors import InvalidInput
from tocsin.service.access.tokens import tenant_folder
from tocsin.service.audit import AT_ONCE, page
from tocsin.store import Database


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "audit",
        help="write who changed what over HTTP",
        description="Writes the audit log of a tenant as JSON lines, the oldest first. It works while the server runs.",
        examples=("tocsin audit alerts/", "tocsin audit alerts/ --tenant acme | jq 'select(.method == \"DELETE\")'"),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder that `tocsin serve` serves")
    parser.add_argument("--tenant", default="", metavar="NAME", help="the tenant (default: the one in FOLDER itself)")
    parser.add_argument("--after", type=int, default=0, metavar="N", help="only records after this number (default: 0)")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    folder, after = tenant_folder(Path(given.folder), given.tenant), given.after
    database = Database.open(folder, read_only=True)
    try:
        while found := page(database.connection, after, AT_ONCE)[0]:
            for record in found:
                print(json.dumps(record))  # in ASCII, which no terminal obeys
            after = found[-1]["number"]
    except sqlite3.OperationalError as error:
        raise InvalidInput(f"{folder} has no audit log: {error}; `tocsin serve` begins one") from None
    finally:
        database.close()
    return 0
