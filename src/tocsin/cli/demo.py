"""tocsin demo: flights on Spark, at once or hour by hour; through fences; through a service; deals in a window."""

from __future__ import annotations

import argparse
from pathlib import Path

from tocsin.cli.options import Commands, new_command
from tocsin.cli.pipeline import stopping
from tocsin.errors import InvalidInput, needing


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "demo",
        help="run a demo on real data",
        description="Runs a demo on real data and shows its results: flights out of New York matched against travel "
        "alerts, their planes in fences around cities, a service that is killed and loses nothing, or orders as "
        "deals in a window.",
        examples=(
            "tocsin demo --events 20000",
            "tocsin demo stream --hours 24",
            "tocsin demo window --size 500",
            "tocsin demo service --console",
        ),
    )
    parser.add_argument(
        "what", nargs="?", choices=("flights", "stream", "fences", "window", "service"), default="flights",
        help="flights: a year of flights in one Spark job; stream: the flights hour by hour, while alerts change; "
        "fences: the planes of one day as they enter and leave cities; "
        "window: orders as deals, with the best recent deals for each subscription; "
        "service: flights published to a server that is killed in the middle (default: flights)",
    )  # fmt: skip
    parser.add_argument(
        "--day",
        metavar="YYYY-MM-DD",
        help="stream: the first day (default: 2013-02-04); fences, --console: the day (default: 2013-07-22)",
    )
    parser.add_argument(
        "--hours", type=int, metavar="N", help="stream: the number of hours of flights (default: 168, a week)"
    )
    parser.add_argument(
        "--speed", type=float, metavar="N", help="stream: hours of flights for each second (default: 2)"
    )
    parser.add_argument(
        "--out", metavar="FOLDER", help="the folder for results (default: demo-output; window: demo-output/window)"
    )
    _add_sizes(parser)
    parser.add_argument(
        "--console", action="store_true",
        help="service: play planes in the air to a server with its console, until it is stopped",
    )  # fmt: skip
    parser.add_argument(
        "--master",
        default="local[*]",
        help="flights, stream: the Spark master (default: local[*], all cores of this machine)",
    )
    parser.set_defaults(run=run)


def _add_sizes(parser: argparse.ArgumentParser) -> None:
    """Add the options for how much a demo runs on, and how fast."""
    parser.add_argument(
        "--subscriptions", type=int, metavar="N", help="the number of subscriptions (default: 20000; window: 5000)"
    )
    parser.add_argument(
        "--events",
        type=int,
        metavar="N",
        help="flights, window, service: the number of flights or orders "
        "(default: all, 336,776 or 9,994; service: 20,000)",
    )
    parser.add_argument(
        "--size", type=int, metavar="N", help="window: the size of the window in orders (default: 1000)"
    )
    parser.add_argument(
        "--pace", type=int, metavar="N",
        help="window: orders per second, 0 for no limit (default: 1000 on a terminal, otherwise 0)",
    )  # fmt: skip


@needing("demo")
def run(given: argparse.Namespace) -> int:
    output = Path(given.out or ("demo-output/window" if given.what == "window" else "demo-output"))
    if given.what == "fences":
        from tocsin.demo import fences

        fences.run(output, day=given.day or fences.DAY)
    elif given.what == "stream":
        run_stream(given, output)
    elif given.what == "window":
        from tocsin.demo import window

        asked = {name: value for name in ("subscriptions", "size") if (value := getattr(given, name)) is not None}
        window.run(output, events=given.events, pace=given.pace, **asked)
    elif given.console:
        run_console(given)
    elif given.what == "service":
        from tocsin.demo import serving

        asked = {name: value for name in ("subscriptions", "events") if (value := getattr(given, name)) is not None}
        serving.run(output, **asked)
    else:
        from tocsin.demo import pipeline

        count = pipeline.SUBSCRIPTIONS if given.subscriptions is None else given.subscriptions
        pipeline.run(output, subscriptions=count, events=given.events, master=given.master)
    return 0


def run_console(given: argparse.Namespace) -> None:
    from tocsin.demo import console

    if given.what != "service":
        raise InvalidInput("--console belongs to tocsin demo service")
    asked = {"day": given.day, "alerts": given.subscriptions, "events": given.events}
    console.run(**{name: value for name, value in asked.items() if value is not None})


def run_stream(given: argparse.Namespace, output: Path) -> None:
    from tocsin.demo import stream

    options = {"first": given.day, "hours": given.hours, "speed": given.speed, "subscriptions": given.subscriptions}
    stream.run(
        output / "stream",
        master=given.master,
        stopping=stopping,
        **{name: value for name, value in options.items() if value is not None},
    )
