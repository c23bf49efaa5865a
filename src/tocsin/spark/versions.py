"""The version of an index and the present that a task uses, and the worker's cache of mapped versions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from tocsin.errors import SegmentError
from tocsin.records.files import is_url
from tocsin.segment import IndexFolder, Snapshots, mapping
from tocsin.segment.pins import pinned
from tocsin.spark.answering import MatchOptions
from tocsin.store import missing_changes


def published(index: str | Path) -> IndexFolder:
    """The current version of an index; warns if it lacks changes of a durable engine's store.

    Tasks never open a store: they answer the last checkpoint.
    """
    folder = IndexFolder.read(index if is_url(index) else Path(index).absolute())
    if missing := missing_changes(folder.path):
        at = 0 if folder.store is None else folder.store.sequence
        what = f"{folder.path} is matched at change {at:,}; its store has {missing:,} more"
        warnings.warn(f"{what}, which the engine's next checkpoint adds to the index", stacklevel=3)
    return folder


def of_this_batch(folder: IndexFolder, asked: MatchOptions) -> tuple[IndexFolder, MatchOptions]:
    """The version that this task's micro-batch uses, and the options with its present. Outside of streams as given."""
    from pyspark import TaskContext

    task = TaskContext.get()
    batch = None if task is None else task.getLocalProperty("streaming.sql.batchId")
    stream = None if task is None else task.getLocalProperty("sql.streaming.queryId")
    if batch is None or stream is None:
        return folder.here(), asked
    version, present = pinned(folder.address, stream, int(batch))
    if version.subscriptions and version.ids != folder.ids:
        raise SegmentError(
            f"{folder.address} has {version.ids} ids in version {version.version}, but had {folder.ids} ids when the "
            "query began; start the query again"
        )
    return version.here(), asked if asked.now is not None else replace(asked, now=present)


def opened(folder: IndexFolder) -> Snapshots:
    """A version's segments, memory-mapped once per worker."""
    return _mapped(folder.here())


@lru_cache(maxsize=4)
def _mapped(folder: IndexFolder) -> Snapshots:
    return mapping.opened(folder)
