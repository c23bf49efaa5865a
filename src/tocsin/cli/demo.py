"""tocsin demo: a year of real flights on local Spark, at once or hour by hour; or a day of them through fences."""

from __future__ import annotations

import argparse
from pathlib import Path

from tocsin.cli.pipeline import stopping


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="match a year of real flights against travel alerts, on local Spark")
    parser.add_argument(
        "what", nargs="?", choices=("flights", "stream", "fences"), default="flights",
        help="flights: the year at once, on Spark (default); stream: hour by hour, past alerts that come and go; "
        "fences: one day's planes as they enter and leave cities",
    )  # fmt: skip
    parser.add_argument(
        "--day", metavar="YYYY-MM-DD", help="of 2013; stream: the first (2013-02-04); fences: the one (2013-07-22)"
    )
    parser.add_argument("--hours", type=int, metavar="N", help="stream: how many (default: 168, a week)")
    parser.add_argument("--speed", type=float, metavar="N", help="stream: hours of the year a second (default: 2)")
    parser.add_argument(
        "--out", default="demo-output", metavar="FOLDER", help="where results go (default: demo-output)"
    )
    parser.add_argument(
        "--subscriptions", type=int, default=20_000, metavar="N", help="alerts to draw (default: 20000)"
    )
    parser.add_argument("--events", type=int, metavar="N", help="only so many flights (default: all 336,776)")
    parser.add_argument("--master", default="local[*]", help="the Spark master (default: local[*])")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.what == "fences":
        from tocsin.demo import fences

        fences.run(Path(given.out), day=given.day or fences.DAY)
        return 0
    if given.what == "stream":
        return run_stream(given)
    from tocsin.demo.pipeline import run as run_demo

    run_demo(Path(given.out), subscriptions=given.subscriptions, events=given.events, master=given.master)
    return 0


def run_stream(given: argparse.Namespace) -> int:
    from tocsin.demo import stream

    options = {"first": given.day, "hours": given.hours, "speed": given.speed}
    stream.run(
        Path(given.out) / "stream",
        subscriptions=given.subscriptions,
        master=given.master,
        stopping=stopping,
        **{name: value for name, value in options.items() if value is not None},
    )
    return 0
