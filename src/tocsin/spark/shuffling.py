"""Matching by two shuffles: Spark sends events to the parts of an index, and merges the answers (`visits`).

A task of the second step maps only the parts that it has rows for, so no machine must hold the whole index. No state is
kept between micro-batches, so streams are matched in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from tocsin.segment import IndexFolder
from tocsin.segment.mapping import opened_part
from tocsin.segment.outlines import outline_of
from tocsin.spark.answering import MatchOptions, in_slices
from tocsin.spark.asking import plain, restored, with_present
from tocsin.spark.names import EVENT, TO, matches_type
from tocsin.spark.schemas import shuffled_schemas
from tocsin.spark.versions import of_this_batch
from tocsin.spark.visits import answered, merged, sent, whole_events
from tocsin.spark.workers import Batches, Task, settling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def shuffled(events: DataFrame, folder: IndexFolder, asked: MatchOptions, schema: StructType) -> DataFrame:
    """The answer to events, in the given schema, by tasks that each have some parts of the index."""
    tasks = max(len(folder.parts), 1)
    chosen = with_present(plain(events, list(asked.columns)), asked, folder)
    of_sent, of_answered = shuffled_schemas([events.schema[name] for name in asked.columns], folder.ids)
    rows = chosen.mapInArrow(settling(_sender(folder, asked, tasks)), of_sent).repartitionById(tasks, TO)
    found = rows.mapInArrow(settling(_answerer(folder, asked)), of_answered).repartition(EVENT)
    is_sorted = not events.isStreaming  # Spark does not sort streams; there a task merges its whole share at once
    found = found.sortWithinPartitions(EVENT) if is_sorted else found
    return found.mapInArrow(settling(_merger(folder, asked, is_sorted=is_sorted)), schema)


def _sender(folder: IndexFolder, asked: MatchOptions, tasks: int) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        version, of_batch = of_this_batch(folder, asked)
        outline, first = outline_of(version), 0
        for numbered in batches:
            batch, own = restored(numbered, of_batch)
            yield sent(batch, own, outline, context.partitionId(), first, tasks)
            first += batch.num_rows

    return run


def _answerer(folder: IndexFolder, asked: MatchOptions) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version, _ = of_this_batch(folder, asked)  # the rows bring the present
        part = partial(opened_part, version)
        for batch in batches:
            yield from answered(batch, asked, part, matches_type(folder.ids))

    return run


def _merger(folder: IndexFolder, asked: MatchOptions, *, is_sorted: bool) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version, _ = of_this_batch(folder, asked)
        for rows in whole_events(batches, is_sorted=is_sorted):
            yield from in_slices(merged(rows, asked, version.version), asked)

    return run
