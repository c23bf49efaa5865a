"""Matching events on Spark: each worker memory-maps the index and matches its own partition, without a shuffle.

Workers keep their mappings, and all processes of a machine share the pages. In a stream, the first task of a
micro-batch records the version that the micro-batch uses (`segment/pins.py`).
"""

from __future__ import annotations

import datetime as dt
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
from tocsin.spark.asking import answer_schema, asked_of, plain, restored, with_present
from tocsin.spark.carrying import ROW, carried, given_back, intervals
from tocsin.spark.observing import observed
from tocsin.spark.shuffling import shuffled
from tocsin.spark.versions import of_this_batch, opened, published
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
    now: dt.datetime | str | None = None,
) -> DataFrame:
    """Match a DataFrame of events against a compiled index, in batch or Structured Streaming.

    Lazy, like any transformation.

    Parameters
    ----------
    events : pyspark.sql.DataFrame
        The events, one a row. Structs, and maps with string keys, flatten to dotted names.
    index : str or Path
        The folder that `compile`, `update` or `Engine.save` wrote. Every worker must see it under the same path. Or the
        URL of an index on an object store (`upload`), which each machine copies once.
    attributes : list of str, optional
        The columns that are attributes. Default: all.
    ranking : Top, Relaxed or Similar, optional
        Which matches to report, and with which score. Default: all matches.
    explode : bool
        Whether the result has one row per match. Errors are not shown there.
    event_id : str, optional
        The column that identifies events, with `explode`.
    json : str, optional
        A column of strings with events as JSON objects, which are read like JSON lines.
    corrupt : str, optional
        The column in which a reader puts the text of a record that it could not parse
        (`columnNameOfCorruptRecord`). Such a row is a rejected event.
    schema : mapping of str to str or Text, optional
        The types of attributes with columns of another type: "number", "string", "boolean", "instant", "geometry" or
        "text". Texts are parsed as that type, geometries as well-known text.
    points : mapping of str to pair of str, optional
        Attributes that are made of two others, x and y: `{"location": ("lon", "lat")}`.
    observe : str or pyspark.sql.Observation, optional
        An observation of `events`, `matches`, `rejected` (whole events), `reported` (with any error), `candidates`,
        `verified` and `index_version`. A name is for a `StreamingQueryListener`, such as `Metrics`.
    routing : str
        "local": each worker maps the whole index. "shuffle": events are sent to the parts that may match them, and the
        matches are merged. "auto": shuffle if the index has several parts and more bytes than half of `memory`. The
        rows are the same.
    memory : int, optional
        The memory of a worker's machine, in bytes. Default: that of the calling machine.
    now : datetime or str, optional
        The present, for `NOW()` in subscriptions. Default: Spark's `current_timestamp()`, one instant for a query. In a
        stream, the moment when a micro-batch was first matched, also for its replays.

    Returns
    -------
    pyspark.sql.DataFrame
        All columns of `events` and two more. `matches: array<struct<subscription, score>>` is ordered by id, or with a
        ranking best first. `error: string` says what could not be read; if that was the whole event, `matches` is null.
        With `explode` the columns are `event_id`, `subscription` and `score`.

    Raises
    ------
    InvalidInput
        If options do not fit the columns.
    SegmentError
        If there is no valid index.

    Notes
    -----
    In batch, all tasks use the version of the index that is current at the call. In a stream, each micro-batch uses the
    version that is current when it begins. The index folder records that version, and a replay uses it again.

    With "local" nothing is shuffled. "shuffle" takes two shuffles, and a worker maps only the parts that it is given.
    It needs events that are the same when they are read again.

    Of an index on an object store, a machine copies the parts that its tasks open. The driver copies small files alone.
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
        now=now,
    )
    answered = answers(events, index, replace(asked, tells_work=observe is not None), routing, memory)
    return answered if observe is None else observed(answered, observe, explode=explode)


def answers(
    events: DataFrame, index: str | Path, asked: MatchOptions, routing: str = "auto", memory: int | None = None
) -> DataFrame:
    """The tasks' answers for the given options, with the column of their work if the options ask for it."""
    folder = published(index)
    question_of(asked.ranking)  # raises an error for an unknown ranking
    given, events = events.schema, carried(events)
    asked = replace(asked, columns=asked.columns or (ROW,), untyped=intervals(given))
    schema = answer_schema(events.schema, asked, folder.ids)
    chosen = choose_routing(routing, bytes_of(folder), len(folder.parts), memory)
    _LOG.info("%s is matched with routing %s", folder.address, chosen)
    if chosen.how == SHUFFLE:
        answered = shuffled(events, folder, asked, schema)
    else:
        rows = with_present(plain(events, list(asked.columns)), asked, folder)
        answered = rows.mapInArrow(settling(_matcher(folder, asked)), schema)
    return given_back(answered, given, asked.event_id)


def _matcher(folder: IndexFolder, asked: MatchOptions) -> Task:
    """The task: `answer` on each of its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version, own = of_this_batch(folder, asked)
        snapshots = opened(version)
        for numbered in batches:
            yield from slices(*restored(numbered, own), snapshots, version.version)

    return run
