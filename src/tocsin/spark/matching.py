"""Matching events on Spark: each worker memory-maps the index and matches its own partition, without a shuffle.

Workers keep their mappings, and all processes of a machine share the pages. In a stream, the first task of a
micro-batch records the version that the micro-batch uses (`segment/pins.py`).
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
from tocsin.placement import SHUFFLE, choose_routing
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
    """Match a DataFrame of events against a compiled index, in batch or Structured Streaming.

    The result has every input column and two more. `matches: array<struct<subscription, score>>` is ordered by id, or
    with a ranking best first. `error: string` says what could not be read; if that was the whole event, `matches` is
    null.

    All columns are attributes unless `attributes` names some. Structs, and maps with string keys, flatten to dotted
    names. With `explode=True` the result has one row per match: `event_id`, `subscription`, `score`. There `event_id`
    names the column that identifies events, and errors are not shown. `json` names a column of strings with events as
    JSON objects, which are read like JSON lines. `corrupt` names the column in which a reader puts the text of a record
    that it could not parse (`columnNameOfCorruptRecord`); such a row is a rejected event.

    `schema` gives types to attributes with columns of another type, as in `Engine.match_batch` (`number`, `string`,
    `boolean`, `instant`, `geometry`, `text`). Texts are parsed as that type, geometries as well-known text. `points`
    has attributes that combine two others, as there: `{"location": ("lon", "lat")}`.

    In batch, all tasks use the version of the index that is current at the call. In a stream, each micro-batch uses the
    version that is current when it begins. The index folder records that version, and a replay uses it again. `observe`
    names an observation (for a `StreamingQueryListener`, or a `pyspark.sql.Observation`) of `events`, `matches`,
    `rejected` (whole events), `reported` (with any error), `candidates`, `verified` and `index_version`.

    `routing` is `local`, `shuffle` or `auto`. With `local` each worker maps the whole index. With `shuffle` events are
    sent to the parts that may match them, and the matches are merged. This takes two shuffles, and a worker maps only
    the parts that it is given. `auto` shuffles if the index has several parts and more bytes than half of a machine's
    `memory` (bytes; default: the memory of the calling machine). The rows are the same. A shuffle needs events that are
    the same when they are read again.

    Lazy, like any transformation. Raises `InvalidInput` for options that do not fit the columns, and `SegmentError` if
    there is no valid index.
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
    """The tasks' answers for the given options, with the column of their work if the options ask for it."""
    folder = IndexFolder.read(Path(index).absolute())
    question_of(asked.ranking)  # raises an error for an unknown ranking
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
    """The task: `answer` on each of its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version = of_this_batch(folder)
        snapshots = opened(version)
        for numbered in batches:
            yield from slices(numbered.rename_columns(list(asked.columns)), asked, snapshots, version.version)

    return run
