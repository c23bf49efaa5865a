"""The stream of a pipeline with a window: messages and changes of subscriptions in, changes of lists out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tocsin.pipeline.description import Pipeline, WindowOptions
from tocsin.pipeline.sinks import files, writer_of
from tocsin.pipeline.sources import typed_rows
from tocsin.records.formats import PARQUET, input_format
from tocsin.spark import Metrics
from tocsin.spark import window as keep_window
from tocsin.spark.names import ERROR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_SUBSCRIPTIONS: Final = "id string, words array<string>, location array<double>, k int, alpha double"
"""The schema of subscriptions if none is given."""


def start_window(
    session: SparkSession, pipeline: Pipeline, window: WindowOptions, metrics: Metrics, trigger: Mapping[str, Any]
) -> StreamingQuery:
    """Start the stream of messages, with the changes of subscriptions if the pipeline has some."""
    assert pipeline.subscriptions is not None
    path = pipeline.subscriptions
    reader = session.read.schema(pipeline.schema or _SUBSCRIPTIONS)
    rows = keep_window(
        typed_rows(session, pipeline.events),
        reader.parquet(str(path)) if input_format(path) is PARQUET else reader.json(str(path)),
        changes=None if pipeline.changes is None else typed_rows(session, pipeline.changes),
        size=window.size,
        time=window.seconds,
        bounds=window.bounds,
        partitions=window.partitions,
        order=window.order,
        placement=window.placement,
        weights=window.weights,
        text=window.text,
        term_frequency=window.term_frequency,
        index=window.structure,
        lists=window.lists,
    )
    writer = rows.writeStream.foreachBatch(_Taker(pipeline, metrics)).queryName(pipeline.name).outputMode("update")
    writer = writer.option("checkpointLocation", str(pipeline.checkpoint / "window"))
    return writer.trigger(**trigger).start()


class _Taker:
    """Writes the results of each micro-batch: changes of lists to the sink, refused rows to the rejects."""

    def __init__(self, pipeline: Pipeline, metrics: Metrics) -> None:
        self._name, self._metrics = pipeline.name, metrics
        self._write = writer_of(pipeline.sink)
        self._write_rejects = None if pipeline.rejects is None else files(pipeline.rejects / "events", "json")

    def __call__(self, batch: DataFrame, number: int) -> None:
        from pyspark.sql import functions

        rows = batch.persist()  # a second job would push the messages again
        try:
            is_good = functions.col(ERROR).isNull()
            self._write(rows.where(is_good).drop(ERROR), number)
            refused = rows.where(~is_good)
            counts = {"matches": rows.where(is_good).count(), "rejected": refused.count()}
            if counts["rejected"] and self._write_rejects is not None:
                self._write_rejects(refused, number)
            self._metrics.count(self._name, {**counts, "index_version": ""})
        finally:
            rows.unpersist()
