"""What does a Python worker keep from task to task? All that it has loaded, out of the way of its garbage collector.

Spark has a worker collect garbage after every task, and each time all objects that kernels and libraries brought along
are looked at: 60 to 100 ms, which is more than many a task takes. They stay anyway, so they are set aside.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

_TASKS = 3
"""In the first few tasks of a process something is loaded: kernels when they are called, an index when it is read."""

_done = 0


def settle() -> None:
    """Set aside what there is at the end of one of the first tasks; later ones have nothing of the kind."""
    global _done
    if _done < _TASKS:
        _done += 1
        gc.collect()
        gc.freeze()


def settling(task: Task) -> Task:
    """The same task, after which its worker settles."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from task(batches)
        settle()

    return run
