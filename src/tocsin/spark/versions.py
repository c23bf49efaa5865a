"""Which version of an index does a task use, and what of it has its worker mapped?"""

from __future__ import annotations

from functools import lru_cache

from tocsin.errors import SegmentError
from tocsin.segment import IndexFolder, Snapshots, mapping
from tocsin.segment.pins import pinned


def of_this_batch(folder: IndexFolder) -> IndexFolder:
    """The version that the micro-batch of this task uses; the one given, where the task is of no stream."""
    from pyspark import TaskContext

    task = TaskContext.get()
    batch = None if task is None else task.getLocalProperty("streaming.sql.batchId")
    if task is None or batch is None:
        return folder
    version = pinned(folder.path, task.getLocalProperty("sql.streaming.queryId"), int(batch))
    if version.subscriptions and version.ids != folder.ids:
        raise SegmentError(
            f"{folder.path} has {version.ids} ids in version {version.version}, and had {folder.ids} ids when the "
            "query began; start the query again"
        )
    return version


@lru_cache(maxsize=4)
def opened(folder: IndexFolder) -> Snapshots:
    """A version's segments, mapped once a worker."""
    return mapping.opened(folder)
