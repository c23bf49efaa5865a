"""`python -m tocsin.warming.worker`: run the uses of tocsin that standard input names, a line each.

It prints a line for each function compiled, and an empty line at the end of each use.
"""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Any, Final

from numba.core import event

from tocsin.garbage import set_aside
from tocsin.warming.samples import published_uses, uses

_THRESHOLDS: Final = (200_000, 5, 5)
"""Thresholds of the garbage collector: with Python's own, it takes a tenth of the time of a compilation."""


class _Listener(event.Listener):  # type: ignore[misc]
    def on_start(self, event: Any) -> None:
        """Nothing to do: the function is printed when its compilation ends."""

    def on_end(self, event: Any) -> None:
        print(event.data["dispatcher"].py_func.__name__, flush=True)


def run() -> None:
    """Run uses of tocsin or of other packages until the end of the input."""
    event.register("numba:compile", _Listener())
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
