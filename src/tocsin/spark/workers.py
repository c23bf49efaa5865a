"""Objects that a Python worker keeps between tasks, set aside from its garbage collector.

Spark makes a worker collect garbage after every task. Each time the collector examines all objects that kernels and
libraries brought along, which takes 60 to 100 ms, longer than many tasks. They stay alive anyway, so they are frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from tocsin.garbage import set_aside

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

_TASKS = 3
"""The first few tasks of a process load kernels and an index."""

_done = 0


def settle() -> None:
    """Freeze the current objects at the end of one of the first tasks; later tasks load nothing more."""
    global _done
    if _done < _TASKS:
        _done += 1
        set_aside()


def settling(task: Task) -> Task:
    """The same task, followed by `settle`."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from task(batches)
        settle()

    return run
