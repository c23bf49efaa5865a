"""Warming up executors before the first event: each core maps the index, and matches an empty event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tocsin.model.ranking import Ranking
from tocsin.spark.answering import MatchOptions, answer
from tocsin.spark.versions import opened, published
from tocsin.spark.workers import settling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def warm(session: SparkSession, index: str | Path, ranking: Ranking | None = None) -> int:
    """Map an index in the workers and match an event without attributes, before the first event comes.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session.
    index
        As in `tocsin.spark.match`.
    ranking
        As in `tocsin.spark.match`.

    Returns
    -------
    int
        The number of tasks.

    Raises
    ------
    SegmentError
        If there is no valid index.

    Notes
    -----
    Kernels that are not in the cache are compiled now; `tocsin warm` prepares the cache. Workers keep their mappings. A
    stream that starts without this does the same in its first micro-batch.
    """
    folder = published(index)
    cores = session.sparkContext.defaultParallelism

    def run(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            snapshots = opened(folder)
            for given, asked in _nothing(ranking):
                answer(given, asked, snapshots)
            yield batch

    return int(session.range(0, cores, 1, cores).mapInArrow(settling(run), "id bigint").count())


def _nothing(ranking: Ranking | None) -> Iterator[tuple[pa.RecordBatch, MatchOptions]]:
    """An event without attributes, in columns and as JSON."""
    number = pa.RecordBatch.from_arrays([pa.array([None], pa.float64())], ["none"])
    yield number, MatchOptions(("none",), ("none",), ranking)
    text = pa.RecordBatch.from_arrays([pa.array(["{}"])], ["none"])
    yield text, MatchOptions(("none",), (), ranking, json="none")
