"""Python's garbage collector in a process that keeps most of what it makes: modules, kernels and subscriptions.

The collector examines all objects again and again as more of them are made. Objects that are set aside, or frozen, are
never examined again. They are freed when nothing refers to them, but not if they refer to each other.

Only processes that tocsin starts, or that run its tasks alone, use this: its commands, `tocsin serve`, the processes
that compile kernels, and Spark's Python workers. `import tocsin`, and all that it offers, leave the collector alone.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_RARELY: Final = (50_000, 20, 50)


@contextmanager
def setting_aside() -> Iterator[None]:
    """Collect nothing while modules are imported, and never examine them; collect rarely from then on.

    With Python's own settings, the collector takes a fifth of the start of a command.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*_RARELY)
        gc.enable()


def set_aside() -> None:
    """Collect garbage, and never examine what is left. Cost: all objects are examined once, some 100 ms."""
    gc.collect()
    gc.freeze()
