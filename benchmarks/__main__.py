"""Run the benchmarks and print their rows, with a calibration loop before and after; or two versions in turns."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import turns
from benchmarks.calibration import calibrate
from benchmarks.rows import HEADER, Row

PARTS: dict[str, Callable[[argparse.Namespace], tuple[Any, ...]]] = {
    "calibration": lambda given: (),
    "b1": lambda given: (given.subscriptions, given.events),
    "b2": lambda given: (given.subscriptions, given.events),
    "b4": lambda given: (given.subscriptions, given.events),
    "b4_large": lambda given: (given.subscriptions, given.events),
    "b5": lambda given: (given.subscriptions, given.size),
    "b5_long": lambda given: (min(given.subscriptions, 50_000), given.size),
    "b5_policies": lambda given: (min(given.subscriptions, 100_000), min(given.size, 20_000)),
    "places": lambda given: (given.subscriptions,),
    "placement": lambda given: (given.subscriptions, given.events),
    "dense": lambda given: (min(given.subscriptions, 200_000), given.events),
    "public": lambda given: (given.subscriptions, given.events),
    "threads": lambda given: (given.subscriptions, given.events),
    "spark": lambda given: (given.subscriptions,),
    "spark_join": lambda given: (min(given.subscriptions, 100_000),),
    "spark_latency": lambda given: (given.subscriptions,),
    "window_spark": lambda given: (given.subscriptions, given.size),
    "changes": lambda given: (given.subscriptions,),
    "patterns": lambda given: (given.subscriptions, given.events),
    "ranked": lambda given: (given.subscriptions,),
    "b1_ranked": lambda given: (given.subscriptions,),
    "ir_tree": lambda given: (given.subscriptions,),
    "durable": lambda given: (given.subscriptions,),
    "paths": lambda given: (min(given.subscriptions, 100_000),),
    "saved_searches": lambda given: (min(given.subscriptions, 100_000),),
    "monitor": lambda given: (given.subscriptions, given.size),
    "rules": lambda given: (),
    "bulk": lambda given: (given.subscriptions,),
    "service": lambda given: (given.subscriptions,),
    "sizing": lambda given: (given.subscriptions,),
    "warm": lambda given: (given.wheel,),
    "cold": lambda given: (given.wheel, min(given.subscriptions, 100_000)),
}
"""The arguments of `rows` in each module. A module is imported only if its part is asked for."""

EXAMPLES = """examples:

    python -m benchmarks b1 b2 --subscriptions 100000
    python -m benchmarks paths --subscriptions 50000 --against ../earlier --times 5
"""


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Runs benchmarks and prints a row for each measurement, with a calibration before and after.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    counts: list[tuple[str, int, str]] = [
        ("--subscriptions", 1_000_000, "the number of subscriptions"),
        ("--events", 16_384, "the events in a batch, 64 to 16384"),
        ("--size", 100_000, "b5, b5_long, b5_policies, window_spark: the messages in the window; monitor: the events"),
        ("--times", 3, "--against: the turns of each version"),
    ]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    for option, default, text in counts:
        parser.add_argument(option, type=int, default=default, metavar="N", help=f"{text} (default: %(default)s)")
    parser.add_argument("--wheel", action="store_true", help="warm: also build a wheel; cold: also install it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--against", type=Path, metavar="FOLDER", help="compare with the sources of a checkout of another version"
    )
    how.add_argument("--json", action="store_true", help="print each row as a line of JSON, and nothing else")
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown or not 64 <= given.events <= 16_384:
        parser.error(f"there is no part {unknown[0]!r}" if unknown else "--events must be from 64 to 16384")
    if given.against and not (given.against / "src" / "tocsin").is_dir():
        parser.error(f"--against is {given.against}, which is no checkout of tocsin")
    return given


def main() -> int:
    given = _given()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # for all processes: an installed tocsin has its bytecode
    if given.json:
        for row in _rows(given):
            print(row.json(), flush=True)
        return 0
    before = calibrate()
    print(f"Python {platform.python_version()}, {platform.machine()}; one thread, CPU time unless wall time is said")
    print(f"{given.subscriptions:,} subscriptions, batches of {given.events:,} events (zipf: a sixteenth)")
    if given.against:
        _in_turns(given)
    else:
        print(HEADER)
        for row in _rows(given):
            print(row.text(before), flush=True)
    after = calibrate()
    print(f"calibration loop: {before:,.0f} M steps/s before, {after:,.0f} after")
    return 0


def _rows(given: argparse.Namespace) -> Iterator[Row]:
    for part in given.parts or PARTS:
        yield from import_module(f"benchmarks.{part}").rows(*PARTS[part](given))


def _in_turns(given: argparse.Namespace) -> None:
    options = [f"--{name}={getattr(given, name)}" for name in ("subscriptions", "events", "size")]
    print(f"medians of {given.times} turns; MB: the most memory, with that of processes it started")
    print(turns.HEADER)
    for part in given.parts or PARTS:
        for line in turns.lines(part, [*options, *(["--wheel"] if given.wheel else [])], given.against, given.times):
            print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
