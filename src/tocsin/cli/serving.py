"""tocsin serve: the HTTP service on the folder of a durable engine."""

from __future__ import annotations

import argparse
import logging
import math
import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

from tocsin.cli.options import Commands, new_command
from tocsin.cli.parsing import Parser
from tocsin.errors import InvalidInput, needing
from tocsin.service.limits import CONNECTIONS, CONNECTIONS_PER_ADDRESS, SETTINGS, LiveLimits, read_limits

_PREFIX: Final = "TOCSIN_SERVE_"
"""Of variables that give options. Kubernetes sets TOCSIN_PORT, and others, beside a Service with the name tocsin."""
_KEY: Final = "SECRETS_KEY"
_LOG: Final = logging.getLogger("tocsin.service")


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "serve",
        help="serve a folder of subscriptions over HTTP",
        description="Serves the folder of a durable engine over HTTP: subscriptions, matching, publishing, and "
        "deliveries as server-sent events or by pulling. The folder is made if there is none. Without tokens it "
        "listens on loopback only; `tocsin token create` makes one. SIGTERM and Ctrl-C end it in order.",
        examples=(
            "tocsin serve alerts/",
            "tocsin serve alerts/ --port 9000 --retain-days 30",
            "tocsin serve alerts/ --public-host alerts.example.org --trusted-proxies 127.0.0.1",
        ),
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of a durable engine")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8470, metavar="N", help="the port; 0: any (default: 8470)")
    parser.add_argument(
        "--sync",
        choices=("full", "relaxed"),
        default="full",
        help="relaxed: faster, but a power cut may lose the last second (default: full)",
    )
    _add_limits(parser)
    _add_network(parser)
    _add_logs(parser)
    parser.add_argument(
        "--secrets-key-file",
        metavar="FILE",
        help="a file with a key a line, which encrypts the secrets of destinations in the store; the variable "
        f"{_PREFIX}{_KEY} has the keys themselves instead",
    )
    assert isinstance(parser, Parser)
    parser.take_variables(_PREFIX)
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits", "of every tenant, unless --limits has others for it")
    for one in SETTINGS:
        default = "none" if math.isinf(one.default) else f"{one.default:,.10g}"
        option = f"--{one.key.replace('_', '-')}"
        group.add_argument(option, type=float, metavar="N", help=f"{one.about} (default: {default})")
    group.add_argument("--limits", metavar="FILE", help="a TOML file with the limits of tenants, as in docs/service.md")


def _add_network(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--public-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which clients reach the server, as through a proxy; may be given again",
    )
    parser.add_argument(
        "--trusted-proxies",
        default="",
        metavar="A,A",
        help="addresses or networks of proxies, whose X-Forwarded-For and -Proto are believed",
    )
    parser.add_argument(
        "--no-tokens",
        action="store_true",
        help="serve on loopback without tokens, although the folder had some: everybody on this machine may make every "
        "call",
    )
    parser.add_argument(
        "--connections",
        type=int,
        default=CONNECTIONS,
        metavar="N",
        help=f"how many connections are open at once; further ones get a 503 (default: {CONNECTIONS})",
    )
    parser.add_argument(
        "--connections-per-address",
        type=int,
        default=CONNECTIONS_PER_ADDRESS,
        metavar="N",
        help=f"the same for one address, but not for trusted proxies (default: {CONNECTIONS_PER_ADDRESS})",
    )


def _add_logs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("logs", "on standard error, with times in UTC")
    group.add_argument(
        "--access-log",
        action=argparse.BooleanOptionalAction,
        help="log each request when it has been answered (default: no)",
    )
    group.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="lines of text or of JSON (default: text)"
    )


def run(given: argparse.Namespace) -> int:
    try:
        return _serve(given)
    except InvalidInput as error:
        raise InvalidInput(given.parser.spelled(str(error))) from None


def _serve(given: argparse.Namespace) -> int:
    with needing("service"):
        from tocsin.service import logs
        from tocsin.service.deliver.encryption import read_keys
        from tocsin.service.serving import Options, Server, serve
    logs.configure(given.log_format, access=bool(given.access_log))
    set_here = {one.key: value for one in SETTINGS if (value := getattr(given, one.key)) is not None}
    limits = read_limits(None, set_here) if given.limits is None else LiveLimits(Path(given.limits), set_here)
    proxies = tuple(filter(None, (one.strip() for one in given.trusted_proxies.split(","))))
    file, name = given.secrets_key_file, f"{_PREFIX}{_KEY}"
    keys = read_keys(None if file is None else Path(file), os.environ.pop(name, None), name)
    options = Options(
        Path(given.folder), given.host, given.port, given.sync, limits, tuple(given.public_host), proxies,
        given.connections, given.connections_per_address, given.no_tokens, keys,
    )  # fmt: skip

    def ready(server: Server) -> None:
        needs = server.authentication.needs_token
        how = "with tokens" if needs else "loopback only: there are no tokens"
        tell = partial(print, file=sys.stderr, flush=True) if given.log_format == "text" else _LOG.info
        tell(f"serving {given.folder} at {server.address} ({how})")
        if not options.is_loopback and not proxies:
            tell("tokens cross the network unencrypted unless a TLS proxy is in front")

    before = os.umask(0o077)  # what the server writes is its user's alone
    try:
        serve(options, ready)
    finally:
        os.umask(before)
    return 0
