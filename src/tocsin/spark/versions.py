"""The version of an index that a task uses, and the worker's cache of mapped versions."""

from __future__ import annotations

from functools import lru_cache

from tocsin.errors import SegmentError
from tocsin.segment import IndexFolder, Snapshots, mapping
from tocsin.segment.pins import pinned


def of_this_batch(folder: IndexFolder) -> IndexFolder:
    """The version that this task's micro-batch uses; the given one outside of streams."""
    from pyspark import TaskContext

    task = TaskContext.get()
    batch = None if task is None else task.getLocalProperty("streaming.sql.batchId")
    stream = None if task is None else task.getLocalProperty("sql.streaming.queryId")
    if batch is None or stream is None:
        return folder
    version = pinned(folder.path, stream, int(batch))
    if version.subscriptions and version.ids != folder.ids:
        raise SegmentError(
            f"{folder.path} has {version.ids} ids in version {version.version}, but had {folder.ids} ids when the "
            "query began; start the query again"
        )
    return version


@lru_cache(maxsize=4)
def opened(folder: IndexFolder) -> Snapshots:
    """A version's segments, memory-mapped once per worker."""
    return mapping.opened(folder)
