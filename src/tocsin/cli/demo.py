"""tocsin demo: a year of flights on Spark, at once or hour by hour; a day of them through fences; a window of deals."""

from __future__ import annotations

import argparse
from pathlib import Path

from tocsin.cli.pipeline import stopping


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="match a year of real flights against travel alerts, on local Spark")
    parser.add_argument(
        "what", nargs="?", choices=("flights", "stream", "fences", "window"), default="flights",
        help="flights: the year at once, on Spark (default); stream: hour by hour, past alerts that come and go; "
        "fences: one day's planes as they enter and leave cities; "
        "window: orders as deals, the best of late for everyone who waits",
    )  # fmt: skip
    parser.add_argument(
        "--day", metavar="YYYY-MM-DD", help="of 2013; stream: the first (2013-02-04); fences: the one (2013-07-22)"
    )
    parser.add_argument("--hours", type=int, metavar="N", help="stream: how many (default: 168, a week)")
    parser.add_argument("--speed", type=float, metavar="N", help="stream: hours of the year a second (default: 2)")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where results go (default: demo-output; window: demo-output/window)"
    )
    parser.add_argument(
        "--subscriptions", type=int, metavar="N", help="how many to draw (default: 20000 alerts; window: 5000)"
    )
    parser.add_argument(
        "--events", type=int, metavar="N", help="the number of flights, or orders (default: all 336,776, or 9,994)"
    )
    parser.add_argument("--size", type=int, metavar="N", help="window: its size in orders (default: 1000)")
    parser.add_argument(
        "--pace", type=int, metavar="N",
        help="window: orders a second, 0 for no limit (default: 1000 on a terminal, otherwise 0)",
    )  # fmt: skip
    parser.add_argument("--master", default="local[*]", help="the Spark master (default: local[*])")
    parser.set_defaults(run=run)


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
    else:
        from tocsin.demo import pipeline

        count = pipeline.SUBSCRIPTIONS if given.subscriptions is None else given.subscriptions
        pipeline.run(output, subscriptions=count, events=given.events, master=given.master)
    return 0


def run_stream(given: argparse.Namespace, output: Path) -> None:
    from tocsin.demo import stream

    options = {"first": given.day, "hours": given.hours, "speed": given.speed, "subscriptions": given.subscriptions}
    stream.run(
        output / "stream",
        master=given.master,
        stopping=stopping,
        **{name: value for name, value in options.items() if value is not None},
    )
