"""Run the benchmarks and print their rows, with a calibration loop before and after."""

from __future__ import annotations

import argparse
import platform
import sys

from benchmarks import b1
from benchmarks.calibration import calibrate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000, metavar="N", help="default: 100000")
    parser.add_argument("--events", type=int, default=8_192, metavar="N", help="default: 8192")
    given = parser.parse_args()
    before = calibrate()
    print(f"Python {platform.python_version()}, {platform.machine()}; one thread, CPU time, median of 3")
    print(f"B1: boolean matching, {given.subscriptions:,} subscriptions, {given.events:,} events")
    print(f"{'index':8} {'load':5} {'events from':12} {'events/s':>10} {'x calib.':>9} {'matches':>8}  where")
    for row in b1.rows(given.subscriptions, given.events):
        # Events a second for a million steps a second of the fixed loop: a figure that other machines can compare.
        print(
            f"{row.index:8} {row.workload:5} {row.source:12} {row.events_per_second:10,.0f} "
            f"{row.events_per_second / before:9,.1f} {row.matches_per_event:8,.1f}  {row.note}",
            flush=True,
        )
    after = calibrate()
    print(f"calibration loop: {before:,.0f} M steps/s before, {after:,.0f} after")
    return 0


if __name__ == "__main__":
    sys.exit(main())
