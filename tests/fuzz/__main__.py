"""Fuzz for some minutes; what is found is written down, and fails `make test` from then on.

python -m tests.fuzz [--minutes 5] [--seed N] [TARGET ...]
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.running import faults, fuzz, keep, smallest
from tests.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together (default: 5)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9, help="for the same inputs again")
    given = parser.parse_args()
    names = given.targets or list(TARGETS)
    unknown = set(names) - set(TARGETS)
    if unknown:
        parser.error(f"no target {unknown.pop()!r}; there are {', '.join(TARGETS)}")
    found = 0
    for name in names:
        print(f"{name} (seed {given.seed})", flush=True)
        for data, what in fuzz(name, given.seed, until=time.monotonic() + 60 * given.minutes / len(names)):
            small = smallest(data, lambda shorter, name=name: any(faults(name, [shorter])))  # type: ignore[misc]
            print(f"  {keep(name, small)}: {small[:200]!r}\n{what}", flush=True)
            found += 1
            break  # the same fault would be found again and again
    print(f"{found} faults found" if found else "nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
