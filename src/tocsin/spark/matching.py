"""How are events on Spark matched? Each worker maps the index and answers its own events: no shuffle, no broadcast.

Workers keep what they mapped; the pages are shared by all of a machine's processes. Of a stream, the first task of a
micro-batch records which version the micro-batch uses (`segment/pins.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tocsin.encoding import Points
from tocsin.index import question_of
from tocsin.model.ranking import Ranking
from tocsin.planner import SHUFFLE, choose_routing
from tocsin.records.csv_files import ColumnType
from tocsin.segment import IndexFolder
from tocsin.segment.outlines import bytes_of
from tocsin.spark.answering import MatchOptions, slices
from tocsin.spark.asking import answer_schema, asked_of, plain
from tocsin.spark.carrying import ROW, carried, given_back, intervals
from tocsin.spark.observing import observed
from tocsin.spark.shuffling import shuffled
from tocsin.spark.versions import of_this_batch, opened
from tocsin.spark.workers import Batches, Task, settling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

_LOG: Final = logging.getLogger(__name__)


def match(
    events: DataFrame,
    index: str | Path,
    *,
    attributes: list[str] | None = None,
    ranking: Ranking | None = None,
    explode: bool = False,
    event_id: str | None = None,
    json: str | None = None,
    corrupt: str | None = None,
    schema: Mapping[str, ColumnType] | None = None,
    points: Points | None = None,
    observe: str | Observation | None = None,
    routing: str = "auto",
    memory: int | None = None,
) -> DataFrame:
    """Match a DataFrame of events against a compiled index; batch, or Structured Streaming.

    Every input column is kept, and `matches: array<struct<subscription, score>>` (by id or, ranked, best first) and
    `error: string` are added: `error` says what could not be taken; `matches` is null where that was the whole event.
    All columns are attributes unless `attributes` names some; structs flatten to dotted names, and so do maps with
    string keys. With `explode=True` the result is one row a match, `event_id`, `subscription`, `score`, where
    `event_id` names the column that tells events apart; rejected events and fields do not show in that form. `json`
    names a column of strings that are JSON objects: they are the events then, read as JSON lines are. `corrupt` names
    the column in which a reader puts the text of a record that it could not read (`columnNameOfCorruptRecord`): such a
    row is an event that was refused. `schema` says of which type attributes are whose columns have another, as that of
    `Engine.match_batch` does (`number`, `string`, `boolean`, `instant`, `geometry`, `text`): a text is read as it, as
    well-known text where it is a place. `points` says which attributes are made of two others, as there:
    `{"location": ("lon", "lat")}`.

    Of a batch, all tasks use the version that is current when this is called. Of a stream, each micro-batch uses the
    one that is current when it begins, which the index folder records: a replay uses the same again. `observe` names
    an observation (a `StreamingQueryListener` gets it, or `pyspark.sql.Observation`) of `events`, `matches`,
    `rejected` (whole events), `reported` (with any error), `candidates`, `verified` and `index_version`.

    `routing` is `local`, where each worker maps the whole index; `shuffle`, where events are sent to the parts that
    they visit and their matches merged, by two shuffles, so that a worker maps the parts alone that it is given; or
    `auto`, which shuffles where the index has more bytes than half of the `memory` of a machine (bytes; else that of
    the machine that this is called on) and more than one part. The rows are the same. A shuffle wants events that are
    the same when they are read again.

    Lazy, like any transformation. Raises `InvalidInput` for options that do not fit the columns, `SegmentError` for
    what is no index.
    """
    asked = asked_of(
        events,
        attributes,
        ranking,
        event_id=event_id,
        json=json,
        corrupt=corrupt,
        explode=explode,
        schema=schema,
        points=points,
    )
    answered = answers(events, index, replace(asked, tells_work=observe is not None), routing, memory)
    return answered if observe is None else observed(answered, observe, explode=explode)


def answers(
    events: DataFrame, index: str | Path, asked: MatchOptions, routing: str = "auto", memory: int | None = None
) -> DataFrame:
    """What tasks answer to what is asked of each batch, the column of their work included where that is asked for."""
    folder = IndexFolder.read(Path(index).absolute())
    question_of(asked.ranking)  # which refuses what is none
    given, events = events.schema, carried(events)
    asked = replace(asked, columns=asked.columns or (ROW,), untyped=intervals(given))
    schema = answer_schema(events.schema, asked, folder.ids)
    chosen = choose_routing(routing, bytes_of(folder), len(folder.parts), memory)
    _LOG.info("%s is matched by routing %s", folder.path, chosen)
    if chosen.how == SHUFFLE:
        answered = shuffled(events, folder, asked, schema)
    else:
        answered = plain(events, list(asked.columns)).mapInArrow(settling(_matcher(folder, asked)), schema)
    return given_back(answered, given, asked.event_id)


def _matcher(folder: IndexFolder, asked: MatchOptions) -> Task:
    """What a task runs: `answer` on each of its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version = of_this_batch(folder)
        snapshots = opened(version)
        for numbered in batches:
            yield from slices(numbered.rename_columns(list(asked.columns)), asked, snapshots, version.version)

    return run
