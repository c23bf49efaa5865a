"""Run the benchmarks and print their rows, with a calibration loop before and after."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import (
    b1,
    b1_ranked,
    b2,
    b4,
    b4_large,
    b5,
    b5_long,
    b5_policies,
    bulk,
    changes,
    cold,
    dense,
    durable,
    ir_tree,
    paths,
    patterns,
    placement,
    places,
    public,
    ranked,
    rules,
    saved_searches,
    service,
    spark,
    threads,
    window_spark,
)
from benchmarks.calibration import calibrate
from benchmarks.rows import HEADER, Row

PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "b1": lambda given: b1.rows(given.subscriptions, given.events),
    "b2": lambda given: b2.rows(given.subscriptions, given.events),
    "b4": lambda given: b4.rows(given.subscriptions, given.events),
    "b4_large": lambda given: b4_large.rows(given.subscriptions, given.events),
    "b5": lambda given: b5.rows(given.subscriptions, given.size),
    "b5_long": lambda given: b5_long.rows(min(given.subscriptions, 50_000), given.size),
    "b5_policies": lambda given: b5_policies.rows(min(given.subscriptions, 100_000), min(given.size, 20_000)),
    "places": lambda given: places.rows(given.subscriptions),
    "placement": lambda given: placement.rows(given.subscriptions, given.events),
    "dense": lambda given: dense.rows(min(given.subscriptions, 200_000), given.events),
    "public": lambda given: public.rows(given.subscriptions, given.events),
    "threads": lambda given: threads.rows(given.subscriptions, given.events),
    "spark": lambda given: spark.rows(given.subscriptions),
    "window_spark": lambda given: window_spark.rows(given.subscriptions, given.size),
    "changes": lambda given: changes.rows(given.subscriptions),
    "patterns": lambda given: patterns.rows(given.subscriptions, given.events),
    "ranked": lambda given: ranked.rows(given.subscriptions),
    "b1_ranked": lambda given: b1_ranked.rows(given.subscriptions),
    "ir_tree": lambda given: ir_tree.rows(given.subscriptions),
    "durable": lambda given: durable.rows(given.subscriptions),
    "paths": lambda given: paths.rows(min(given.subscriptions, 100_000)),
    "searches": lambda given: saved_searches.rows(min(given.subscriptions, 100_000)),
    "rules": lambda given: rules.rows(),
    "bulk": lambda given: bulk.rows(given.subscriptions),
    "service": lambda given: service.rows(given.subscriptions),
    "cold": lambda given: cold.rows(given.against, given.times, given.wheel, min(given.subscriptions, 100_000)),
}


EXAMPLES = """examples:

    python -m benchmarks b1 b2 --subscriptions 100000
    python -m benchmarks cold --against ../earlier --times 3
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
        ("--size", 100_000, "b5, b5_long, b5_policies, window_spark: the messages in the window"),
        ("--times", 1, "cold: the number of repetitions"),
    ]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    for option, default, text in counts:
        parser.add_argument(option, type=int, default=default, metavar="N", help=f"{text} (default: %(default)s)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="cold: a checkout of another version to compare")
    parser.add_argument("--wheel", action="store_true", help="cold: also build a wheel and install it")
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown or not 64 <= given.events <= 16_384:
        parser.error(f"there is no part {unknown[0]!r}" if unknown else "--events must be from 64 to 16384")
    return given


def main() -> int:
    given = _given()
    before = calibrate()
    print(f"Python {platform.python_version()}, {platform.machine()}; one thread, CPU time unless wall time is said")
    print(f"{given.subscriptions:,} subscriptions, batches of {given.events:,} events (zipf: a sixteenth)")
    print(HEADER)
    for part in given.parts or PARTS:
        for row in PARTS[part](given):
            print(row.text(before), flush=True)
    after = calibrate()
    print(f"calibration loop: {before:,.0f} M steps/s before, {after:,.0f} after")
    return 0


if __name__ == "__main__":
    sys.exit(main())
