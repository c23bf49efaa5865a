"""tocsin demo: the pipeline on local Spark over a year of real flights; or a day of them through fences."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="match a year of real flights against travel alerts, on local Spark")
    parser.add_argument(
        "what", nargs="?", choices=("flights", "fences"), default="flights",
        help="flights: the pipeline on Spark (default); fences: one day's planes as they enter and leave cities",
    )  # fmt: skip
    parser.add_argument("--day", metavar="YYYY-MM-DD", help="fences: of 2013 (default: 2013-07-22)")
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
    from tocsin.demo.pipeline import run as run_demo

    run_demo(Path(given.out), subscriptions=given.subscriptions, events=given.events, master=given.master)
    return 0
