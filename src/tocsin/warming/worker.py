"""`python -m tocsin.warming.worker`: run the uses of tocsin that standard input names, a line each.

It prints a line for each function compiled, and an empty line at the end of each use.
"""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Final

from tocsin.garbage import set_aside
from tocsin.jit.compiling.announcing import tell_compilations
from tocsin.warming.samples import published_uses, uses

_THRESHOLDS: Final = (200_000, 5, 5)
"""Thresholds of the garbage collector: with Python's own, it takes a tenth of the time of a compilation."""


def run() -> None:
    """Run uses of tocsin or of other packages until the end of the input."""
    tell_compilations(lambda name: print(name, flush=True))
    warnings.simplefilter("ignore")  # samples provoke warnings on purpose
    gc.set_threshold(*_THRESHOLDS)
    there = dict(uses())
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in there:
            for own in published_uses().values():
                there |= own
        there[name]()
        set_aside()  # modules, and compiled functions that later uses call
        print(flush=True)


if __name__ == "__main__":
    run()
