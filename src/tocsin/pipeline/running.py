"""Running a pipeline.

It compiles the subscriptions if needed, and starts two streams: changes to the index, and matches. A pipeline with a
window starts one, of its best messages. The run ends when everything is matched (`once`) or when it is asked to; the
current micro-batch is finished first. After a restart all streams continue at their checkpoints.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tocsin.errors import InvalidInput, TocsinError
from tocsin.locks import Lock
from tocsin.pipeline.description import End, Pipeline
from tocsin.pipeline.inputs import require_inputs
from tocsin.pipeline.layout import claim
from tocsin.pipeline.sinks import Write, files, rejects_of, writer_of
from tocsin.pipeline.sources import Stream, changes_of, events_of
from tocsin.pipeline.streams import Streams
from tocsin.pipeline.subscriptions import Compiled, prepare
from tocsin.pipeline.windows import start_window
from tocsin.spark import Metrics, UpdateReport, local_session, warm
from tocsin.spark.asking import asked_of
from tocsin.spark.changing import amender_of, followed
from tocsin.spark.listening import Progress
from tocsin.spark.matching import answers
from tocsin.spark.names import FILE, MATCHES, WORK_FIELDS
from tocsin.spark.observing import observed
from tocsin.spark.parquet import answers_of_pieces, by_file

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_REASON: Final = re.compile(r" ERROR \w+: |^Error: |\S+(?:Exception|Error): ")
"""The text before a reason in Spark's log."""
_NO_REASON: Final = re.compile(r"^Error: (A fatal exception has occurred|Could not create the Java)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run. Rejected changes are only counted."""

    progress: Progress
    compiled: Compiled | None = None  # None if the index was there
    rejected_changes: int = 0


@dataclass(frozen=True, slots=True)
class _Run:
    """The parts that the streams of a run share."""

    pipeline: Pipeline
    session: SparkSession
    streams: Streams
    metrics: Metrics
    once: bool
    look: Callable[[], None]  # passes the progress on
    say: Callable[[str], None]  # passes the name of a step on

    @property
    def trigger(self) -> Mapping[str, Any]:
        """Spark's options that say when a micro-batch begins."""
        return {"availableNow": True} if self.once else {"processingTime": self.pipeline.every}


def run(
    pipeline: Pipeline,
    *,
    once: bool = False,
    stop: threading.Event | None = None,
    look: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
    tell: Callable[[Compiled], None] = lambda _: None,
) -> Outcome:
    """Run a pipeline until `stop` is set or, with `once`, until all current events are matched.

    `look` is called several times a second with the progress, `say` with the name of each step, and `tell` with the
    subscriptions, if they were compiled. Raises `InvalidInput` if the pipeline contradicts itself or its checkpoint.
    Raises `TocsinError` if a stream fails; then it is safe to run the pipeline again.
    """
    stop = stop or threading.Event()
    require_inputs(pipeline)
    claim(pipeline)
    with Lock(pipeline.checkpoint, patience_s=0) as lock:
        if lock.waited:
            raise InvalidInput(f"{pipeline.checkpoint} is in use: this pipeline is already running, here or elsewhere")
        say("reading subscriptions")
        compiled = None if pipeline.window is not None else prepare(pipeline)
        if compiled is not None:
            tell(compiled)
        return _run(pipeline, compiled, stop, look, say, once=once)


def _run(
    pipeline: Pipeline,
    compiled: Compiled | None,
    stop: threading.Event,
    look: Callable[[Progress], None] | None,
    say: Callable[[str], None],
    *,
    once: bool,
) -> Outcome:
    """Follow changes and match; every started stream is stopped in the end."""
    metrics = _metrics_of(pipeline, compiled)
    say("starting Spark")
    session = _session(pipeline, stop)
    streams = Streams(session, metrics, stop)

    try:
        with streams.ending():
            shared = _Run(pipeline, session, streams, metrics, once, lambda: _tell(look, metrics, pipeline.name), say)
            if pipeline.window is None:
                _match(shared)
            else:
                _keep(shared)
    finally:
        metrics.write()
    _tell(look, metrics, pipeline.name)
    matched, changed = (metrics.progress(name) for name in (pipeline.name, _changes_of(pipeline)))
    refused = 0 if changed is None else changed.counts.get("rejected", 0)
    return Outcome(matched or Progress(pipeline.name), compiled, refused)


def _match(run: _Run) -> None:
    """Follow changes, and match."""
    if run.pipeline.changes is not None:
        run.say("applying changes of subscriptions")
        run.streams.add(_follow(run, run.pipeline.changes))
        if run.once:
            run.streams.wait(lambda: None)
    if not run.streams.are_stopped:
        run.say("loading the index and its kernels")
        warm(run.session, run.pipeline.index, run.pipeline.ranking)
        run.say("matching")
        run.streams.add(_start(run))
        run.streams.wait(run.look)


def _keep(run: _Run) -> None:
    """Keep the best messages of a window."""
    assert run.pipeline.window is not None
    run.say("keeping the window")
    run.streams.add(start_window(run.session, run.pipeline, run.pipeline.window, run.metrics, run.trigger))
    run.streams.wait(run.look)


def _metrics_of(pipeline: Pipeline, compiled: Compiled | None) -> Metrics:
    """The metrics, with zeros for all that no micro-batch has counted yet."""
    metrics = Metrics(pipeline.metrics)
    refused = 0 if compiled is None else len(compiled.rejects)
    metrics.begin(pipeline.name, {**dict.fromkeys((*WORK_FIELDS, "batches"), 0), "subscriptions_rejected": refused})
    if pipeline.changes is not None and pipeline.window is None:
        metrics.begin(_changes_of(pipeline), {"rejected": 0, "batches": 0})
    metrics.write()
    return metrics


def _changes_of(pipeline: Pipeline) -> str:
    """The name of the stream of changes."""
    return f"{pipeline.name}-changes"


def _session(pipeline: Pipeline, stop: threading.Event) -> SparkSession:
    """The session of `spark-submit`, with its own settings first, or one on `master` (default: this machine)."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        try:
            return local_session(pipeline.master, app=pipeline.name, **pipeline.conf)
        except TocsinError:
            raise
        except Exception as error:  # errors of PySpark, Py4J and Java have no common class
            if stop.is_set():  # a signal to all processes also ends Java's
                raise KeyboardInterrupt from None
            reason = _last_word(error)
            raise TocsinError(f"Spark did not start on {pipeline.master}: {reason}. Look at [spark]") from error
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(pipeline.name)
    for key, value in pipeline.conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _last_word(error: Exception) -> str:
    """The reason in Spark's log, or the error itself."""
    said = "\n".join(getattr(error, "__notes__", [])).splitlines()
    lines = [str(error).split("\n", 1)[0], *(line for line in said if line.strip() and not _NO_REASON.search(line))]
    told = [line for line in lines if _REASON.search(line)] or lines
    return _REASON.split(told[-1], maxsplit=1)[-1].strip(" .")


def _follow(run: _Run, changes: End) -> StreamingQuery:
    """Start the stream of changes."""
    pipeline, name = run.pipeline, _changes_of(run.pipeline)
    rejects = None if pipeline.rejects is None else pipeline.rejects / "changes"
    amender = amender_of(pipeline.index, pipeline.structure, None, rejects, pipeline.keep_s)

    def take(report: UpdateReport) -> None:
        run.metrics.count(name, {"rejected": report.rejected, "index_version": report.version})

    return followed(
        changes_of(run.session, changes),
        replace(amender, as_json=rejects is not None),
        checkpoint=pipeline.checkpoint / "changes",
        trigger=run.trigger,
        name=name,
        look=take,
    )


def _start(run: _Run) -> StreamingQuery:
    """Start the stream of events."""
    pipeline = run.pipeline
    stream = events_of(run.session, pipeline.events)
    asked = asked_of(
        stream.rows,
        pipeline.attributes,
        pipeline.ranking,
        json=stream.json,
        corrupt=stream.corrupt,
        points=pipeline.points,
    )
    asked = replace(asked, tells_work=True, folders=stream.folders)
    if stream.by_file:
        asked = by_file(asked, all_columns=pipeline.attributes is None)
    if stream.files is None:
        answered = answers(stream.rows, pipeline.index, asked).drop(FILE)
    else:
        kept = pipeline.rejects is not None
        answered = answers_of_pieces(
            stream.files, (), stream.rows.schema, pipeline.index, asked, sets_aside=kept, read=stream.read
        )
    take = _Taker(pipeline, stream, writer_of(pipeline.sink), run.metrics)
    writer = answered.writeStream.foreachBatch(take).queryName(pipeline.name)
    writer = writer.option("checkpointLocation", str(pipeline.checkpoint / "events"))
    return writer.trigger(**run.trigger).start()


class _Taker:
    """Writes the results of each micro-batch: matches to the sink, events with errors to the rejects."""

    def __init__(self, pipeline: Pipeline, stream: Stream, write: Write, metrics: Metrics) -> None:
        self._pipeline = pipeline
        self._json = stream.json
        self._write = write
        self._metrics = metrics
        self._write_rejects = None if pipeline.rejects is None else files(pipeline.rejects / "events", "json")

    def __call__(self, batch: DataFrame, number: int) -> None:
        from pyspark.sql import Observation

        seen = Observation()
        told = observed(batch, seen, explode=False)
        self._write(self._exploded(told) if self._pipeline.explode else told, number)
        work = seen.get
        if work["reported"] and self._write_rejects is not None:
            self._write_rejects(rejects_of(told, self._json), number)
        self._metrics.count(self._pipeline.name, work)

    def _exploded(self, rows: DataFrame) -> DataFrame:
        """One row per match."""
        from pyspark.sql import functions

        return rows.select(self._event_id(rows.columns).alias("event_id"), functions.inline(MATCHES))

    def _event_id(self, columns: list[str]) -> Column:
        """The column that identifies events: a member of their JSON, or a column such as a message's key."""
        from pyspark.sql import functions

        name = self._pipeline.event_id
        assert name is not None
        column = functions.col(f"`{name}`")
        if self._json is None and name not in columns:
            raise InvalidInput(f"event_id names {name!r}, which is not a column; the columns are {columns}")
        if self._json is None:
            return column
        member = functions.get_json_object(self._json, f"$.{name}")
        return functions.coalesce(member, column.cast("string")) if name in columns else member


def _tell(look: Callable[[Progress], None] | None, metrics: Metrics, name: str) -> None:
    if look is not None and (progress := metrics.progress(name)) is not None:
        look(progress)
