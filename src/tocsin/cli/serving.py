"""tocsin serve: the HTTP service on the folder of a durable engine."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from tocsin.cli.options import Commands, new_command
from tocsin.errors import MissingExtra


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "serve",
        help="serve a folder of subscriptions over HTTP",
        description="Serves the folder of a durable engine over HTTP: subscriptions, matching, publishing, and "
        "deliveries as server-sent events or by pulling. The folder is made if there is none. It listens on loopback "
        "only, because there are no tokens yet. SIGTERM and Ctrl-C end it in order.",
        examples=("tocsin serve alerts/", "tocsin serve alerts/ --port 9000 --retain-days 30"),
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
    parser.add_argument(
        "--retain-days", type=float, default=7.0, metavar="N", help="how long events are kept (default: 7)"
    )
    parser.add_argument(
        "--retain-gb", type=float, default=10.0, metavar="N", help="how many gigabytes of events are kept (default: 10)"
    )
    parser.add_argument(
        "--body-mb", type=int, default=16, metavar="N", help="the largest body of a request, in megabytes (default: 16)"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    try:
        from tocsin.service.service import Limits
        from tocsin.service.serving import Options, Server, serve
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{error.name} is not installed: pip install 'tocsin[service]'") from None
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    limits = Limits(
        body_bytes=max(given.body_mb, 1) << 20,
        retain_s=max(given.retain_days, 0) * 86_400,
        retain_bytes=int(max(given.retain_gb, 0) * 2**30),
    )

    def ready(server: Server) -> None:
        where = f"{server.address} (loopback only: there are no tokens)"
        print(f"serving {given.folder} at {where}", file=sys.stderr, flush=True)

    serve(Options(Path(given.folder), given.host, given.port, given.sync, limits), ready)
    return 0
