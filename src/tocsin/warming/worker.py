"""`python -m tocsin.warming.worker USE`: run one use of tocsin, and print a line for each function compiled."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from numba.core import event

from tocsin.warming.samples import published_uses, uses


class _Listener(event.Listener):  # type: ignore[misc]
    def on_start(self, event: Any) -> None:
        """Nothing to do: the function is printed when its compilation ends."""

    def on_end(self, event: Any) -> None:
        print(event.data["dispatcher"].py_func.__name__, flush=True)


def run() -> None:
    """Run the use named on the command line, of tocsin or of another package."""
    event.register("numba:compile", _Listener())
    warnings.simplefilter("ignore")  # samples provoke warnings on purpose
    there = dict(uses())
    if sys.argv[1] not in there:
        for own in published_uses().values():
            there |= own
    there[sys.argv[1]]()


if __name__ == "__main__":
    run()
