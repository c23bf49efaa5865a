"""What a worker has loaded is set aside from its garbage collector, once."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tocsin.spark import workers


@pytest.fixture(autouse=True)
def unsettled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has done no task yet."""
    monkeypatch.setattr(workers, "_done", 0)
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_a_task_sets_aside_what_there_is() -> None:
    """Its rows are those of the task; nothing is set aside before it ends."""
    batches = [pa.RecordBatch.from_pydict({"n": [n]}) for n in range(3)]
    rows = workers.settling(lambda given: (one.slice(0, 1) for one in given))(iter(batches))

    first = next(rows)
    assert gc.get_freeze_count() == 0
    assert [first, *rows] == batches
    assert gc.get_freeze_count() > 0


def test_later_tasks_leave_it_at_that() -> None:
    """What they make is garbage some day."""
    for _ in range(10):
        workers.settle()
    before = gc.get_freeze_count()
    kept = [[n] for n in range(1000)]
    workers.settle()

    assert gc.get_freeze_count() <= before, "what goes is counted no more, but nothing comes"
    assert len(kept) == 1000
