"""tocsin token: makes, lists and revokes the tokens of a folder that `tocsin serve` serves."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tocsin.cli.options import Commands, new_command
from tocsin.errors import InvalidInput
from tocsin.model.fence import seconds_of
from tocsin.service.access.token_file import TokenFile
from tocsin.service.access.tokens import SCOPES, Token
from tocsin.spelling import printable


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "token",
        help="make, list and revoke tokens for the service",
        description="Makes, lists and revokes the tokens of a folder. A server that runs follows at once.",
        examples=(
            "tocsin token create alerts/ --scope publish --name sensors --expires 90d",
            "tocsin token list alerts/",
            "tocsin token revoke alerts/ 3f9a61c02b7d",
        ),
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_create(verbs)
    examples = ("tocsin token list alerts/", "tocsin token list alerts/ --json | jq .id")
    parser = new_command(
        verbs,
        "list",
        help="list all tokens",
        description="Lists all tokens, without what would give access: id, state, tenant, scopes, last use and name.",
        examples=examples,
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a durable engine")
    parser.add_argument("--json", action="store_true", help="write a JSON object a line")
    parser.set_defaults(run=run_list)
    parser = new_command(
        verbs,
        "revoke",
        help="revoke a token",
        description="Revokes a token. The next request with it is refused, and its open streams end.",
        examples=("tocsin token revoke alerts/ 3f9a61c02b7d", "tocsin token revoke /srv/alerts 3f9a61c02b7d"),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a durable engine")
    parser.add_argument("id", metavar="ID", help="the id, as `tocsin token list` shows it")
    parser.set_defaults(run=run_revoke)


def _add_create(verbs: Commands) -> None:
    parser = new_command(
        verbs,
        "create",
        help="make a token",
        description="Makes a token, and prints it once. Only a hash of it is stored. From the first token on, every "
        "request to the server needs one.",
        examples=(
            "tocsin token create alerts/ --scope publish,subscribe,read",
            "tocsin token create alerts/ --tenant acme --scope read --name phone --expires 90d",
        ),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a durable engine")
    parser.add_argument("--scope", required=True, metavar="S,S", help=f"what it allows: {', '.join(SCOPES)}")
    parser.add_argument("--tenant", default="", metavar="NAME", help="the tenant (default: the one in FOLDER itself)")
    parser.add_argument("--name", default="", metavar="TEXT", help="a name for those who list the tokens")
    parser.add_argument("--expires", metavar="TIME", help="when it expires, such as 90d or 12h (default: never)")
    parser.set_defaults(run=run_create)


def run_create(given: argparse.Namespace) -> int:
    lasts_s = None
    if given.expires is not None:
        lasts_s = seconds_of(given.expires)
        if lasts_s is None or lasts_s > 100 * 366 * 86_400:
            raise InvalidInput(f"--expires is {given.expires!r:.40}; it is a time such as 90d, 12h or 30min")
    scopes = [one.strip() for one in given.scope.split(",")]
    token, text = TokenFile(Path(given.folder)).create(given.tenant, scopes, name=given.name, lasts_s=lasts_s)
    print(text)
    until = "" if token.expires is None else f" until {_shown(token.expires)}"
    print(f"token {token.id}{until}; it is not shown again", file=sys.stderr)
    return 0


def run_list(given: argparse.Namespace) -> int:
    file = TokenFile(Path(given.folder))
    tokens, uses, now = file.read(), file.uses(), int(time.time() * 1000)
    if given.json:
        for one in tokens.values():
            entry = one.entry() | {"used": uses.get(one.id), "state": _state(one, now)}
            del entry["sha256"]
            print(json.dumps(entry))
        return 0
    rows = [("id", "state", "tenant", "scopes", "last use", "name")]
    for one in tokens.values():
        scopes = ",".join(scope for scope in SCOPES if scope in one.scopes)
        name = printable(one.name)
        rows.append((one.id, _state(one, now), one.tenant or "-", scopes, _shown(uses.get(one.id)), name))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + f"  {row[-1]}".rstrip())
    return 0


def run_revoke(given: argparse.Namespace) -> int:
    token = TokenFile(Path(given.folder)).revoke(given.id)
    print(f"token {token.id} is revoked", file=sys.stderr)
    return 0


def _state(one: Token, now: int) -> str:
    if one.revoked is not None:
        return f"revoked {_shown(one.revoked)}"
    if one.expires is None:
        return "valid"
    return f"{'valid until' if one.is_live(now) else 'expired'} {_shown(one.expires)}"


def _shown(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%dT%H:%MZ}"
