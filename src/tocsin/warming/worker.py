"""`python -m tocsin.warming.worker USE`: make one use of tocsin, and say a line for each function that is compiled."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from numba.core import event

from tocsin.warming.samples import published_uses, uses


class _Listener(event.Listener):  # type: ignore[misc]
    def on_start(self, event: Any) -> None:
        """Said when it is done."""

    def on_end(self, event: Any) -> None:
        print(event.data["dispatcher"].py_func.__name__, flush=True)


def run() -> None:
    """The use that the command line names, of the product or of what packages publish."""
    event.register("numba:compile", _Listener())
    warnings.simplefilter("ignore")  # what samples do wrong, they do on purpose
    there = dict(uses())
    if sys.argv[1] not in there:
        for own in published_uses().values():
            there |= own
    there[sys.argv[1]]()


if __name__ == "__main__":
    run()
