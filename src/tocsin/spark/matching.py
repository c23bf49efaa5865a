"""How are events on Spark matched? Each worker maps the index and answers its own events: no shuffle, no broadcast.

Workers keep what they mapped; the pages are shared by all of a machine's processes. Of a stream, the first task of a
micro-batch records which version the micro-batch uses (`segment/pins.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import question_of
from tocsin.model.ranking import Ranking
from tocsin.segment import IndexFolder, Snapshots, mapping
from tocsin.segment.pins import pinned
from tocsin.spark.answering import Asked, slices
from tocsin.spark.observing import observed, with_work
from tocsin.spark.schemas import ERROR, MATCHES, exploded_schema, matched_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

Batches = Iterable[pa.RecordBatch]


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
    observe: str | Observation | None = None,
) -> DataFrame:
    """Match a DataFrame of events against a compiled index; batch, or Structured Streaming.

    Every input column is kept, and `matches: array<struct<subscription, score>>` (by id or, ranked, best first) and
    `error: string` are added: `error` says what could not be taken; `matches` is null where that was the whole event.
    All columns are attributes unless `attributes` names some; structs flatten to dotted names, and so do maps with
    string keys. With `explode=True` the result is one row a match, `event_id`, `subscription`, `score`, where
    `event_id` names the column that tells events apart; rejected events and fields do not show in that form. `json`
    names a column of strings that are JSON objects: they are the events then, read as JSON lines are. `corrupt` names
    the column in which a reader puts the text of a record that it could not read (`columnNameOfCorruptRecord`): such a
    row is an event that was refused.

    Of a batch, all tasks use the version that is current when this is called. Of a stream, each micro-batch uses the
    one that is current when it begins, which the index folder records: a replay uses the same again. `observe` names
    an observation (a `StreamingQueryListener` gets it, or `pyspark.sql.Observation`) of `events`, `matches`,
    `rejected` (whole events), `reported` (with any error), `candidates`, `verified` and `index_version`.

    Lazy, like any transformation. Raises `InvalidInput` for options that do not fit the columns, `SegmentError` for
    what is no index.
    """
    asked = asked_of(events, attributes, ranking, event_id=event_id, json=json, corrupt=corrupt, explode=explode)
    answered = answers(events, index, replace(asked, tells_work=observe is not None))
    return answered if observe is None else observed(answered, observe, explode=explode)


def answers(events: DataFrame, index: str | Path, asked: Asked) -> DataFrame:
    """What tasks answer to what is asked of each batch, the column of their work included where that is asked for."""
    folder = IndexFolder.read(Path(index).absolute())
    question_of(asked.ranking)  # which refuses what is none
    if asked.event_id is None:
        schema = matched_schema(events.schema, folder.ids)
    else:
        schema = exploded_schema(events.schema[asked.event_id], folder.ids)
    schema = with_work(schema) if asked.tells_work else schema
    return plain(events, list(asked.columns)).mapInArrow(_matcher(folder, asked), schema)


def asked_of(
    events: DataFrame,
    attributes: list[str] | None = None,
    ranking: Ranking | None = None,
    *,
    event_id: str | None = None,
    json: str | None = None,
    corrupt: str | None = None,
    explode: bool = False,
) -> Asked:
    """The options as what is asked of each batch; raises `InvalidInput` when they do not fit the columns."""
    names = _checked_columns(events.columns, attributes, event_id, explode=explode)
    extra = _checked_extra(events, json, corrupt, attributes)
    names = [] if json is not None else [name for name in names if name not in extra]
    columns = events.columns if event_id is None else list(dict.fromkeys([event_id, *names, *extra]))
    return Asked(tuple(columns), tuple(names), ranking, event_id, json, corrupt)


def plain(events: DataFrame, columns: list[str]) -> DataFrame:
    """Some columns under numbered names: `mapInArrow` takes a dot in a name for a struct. Tasks give the names back."""
    numbers = {name: f"c{number}" for number, name in enumerate(events.columns)}
    return events.toDF(*numbers.values()).select(*(numbers[name] for name in columns))


def _checked_columns(
    columns: list[str], attributes: list[str] | None, event_id: str | None, *, explode: bool
) -> list[str]:
    """The columns that are attributes; raises `InvalidInput` when the options do not fit the columns."""
    doubled = [name for name in columns if columns.count(name) > 1]
    if doubled:
        raise InvalidInput(f"the events have the column {doubled[0]!r} twice; rename one")
    missing = [name for name in attributes or () if name not in columns]
    if missing:
        raise InvalidInput(f"attributes names {missing[0]!r}, which is no column; there are {columns}")
    if explode and event_id not in columns:
        raise InvalidInput(f"explode=True needs event_id, the name of a column; it is {event_id!r} of {columns}")
    if event_id is not None and not explode:
        raise InvalidInput("event_id is for explode=True; otherwise every column is kept")
    taken = [name for name in (MATCHES, ERROR) if name in columns and not explode]
    if taken:
        raise InvalidInput(f"the events have a column {taken[0]!r} already, which the result needs; rename it")
    return columns if attributes is None else list(dict.fromkeys(attributes))


def _checked_extra(events: DataFrame, json: str | None, corrupt: str | None, attributes: list[str] | None) -> list[str]:
    """The columns that are no attributes themselves; raises `InvalidInput` where they cannot be what they are for."""
    from pyspark.sql.types import StringType

    if json is not None and attributes is not None:
        raise InvalidInput("json names the column that holds whole events; attributes name columns: give one of them")
    for option, name in (("json", json), ("corrupt", corrupt)):
        if name is not None and name not in events.columns:
            raise InvalidInput(f"{option} names {name!r}, which is no column; there are {events.columns}")
        if name is not None and not isinstance(events.schema[name].dataType, StringType):
            kind = events.schema[name].dataType.simpleString()
            raise InvalidInput(f"{option} names {name!r}, a column of {kind}; it must be one of strings")
    return [name for name in (json, corrupt) if name is not None]


def _matcher(folder: IndexFolder, asked: Asked) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What a task runs: `answer` on each of its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version = of_this_batch(folder)
        snapshots = opened(version)
        for numbered in batches:
            yield from slices(numbered.rename_columns(list(asked.columns)), asked, snapshots, version.version)

    return run


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
