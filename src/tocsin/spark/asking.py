"""Checking the options of a match against the columns of the events.

The checked options apply to every batch, and determine the columns of the answer.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from tocsin.encoding import Points, checked_points
from tocsin.errors import InvalidInput
from tocsin.language import name_text
from tocsin.model.instants import given_moment
from tocsin.model.ranking import Ranking
from tocsin.model.texts import PLAIN, texts_in
from tocsin.records.csv_files import ColumnType, checked_types
from tocsin.segment import IndexFolder
from tocsin.segment.outlines import outline_of
from tocsin.spark.answering import MatchOptions, at_present
from tocsin.spark.names import ERROR, MATCHES, NOW
from tocsin.spark.observing import with_work
from tocsin.spark.schemas import exploded_schema, matched_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def asked_of(
    events: DataFrame,
    attributes: list[str] | None = None,
    ranking: Ranking | None = None,
    *,
    event_id: str | None = None,
    json: str | None = None,
    corrupt: str | None = None,
    explode: bool = False,
    schema: Mapping[str, ColumnType] | None = None,
    points: Points | None = None,
    now: dt.datetime | str | None = None,
) -> MatchOptions:
    """The options for each batch; raises `InvalidInput` if they do not fit the columns."""
    names = _checked_columns(events.columns, attributes, event_id, explode=explode)
    extra = _checked_extra(events, json, corrupt, attributes)
    names = [] if json is not None else [name for name in names if name not in extra]
    columns = events.columns if event_id is None else list(dict.fromkeys([event_id, *names, *extra]))
    there = None if json is not None else names
    types, made = _checked_types(schema, there), _checked_points(points, there)
    fields = (tuple(columns), tuple(names), ranking, event_id, json, corrupt)
    return MatchOptions(*fields, schema=types, points=made, now=given_moment(now))


def answer_schema(events: StructType, asked: MatchOptions, ids: str) -> StructType:
    """The columns of the answer to events with these columns, by an index with "string" or "int64" ids."""
    schema = matched_schema(events, ids) if asked.event_id is None else exploded_schema(events[asked.event_id], ids)
    return with_work(schema) if asked.tells_work else schema


def plain(events: DataFrame, columns: list[str]) -> DataFrame:
    """Some columns under numbered names, since `mapInArrow` reads a dot as a struct. Tasks restore the names."""
    numbers = {name: f"c{number}" for number, name in enumerate(events.columns)}
    return events.toDF(*numbers.values()).select(*(numbers[name] for name in columns))


def with_present(rows: DataFrame, asked: MatchOptions, folder: IndexFolder) -> DataFrame:
    """Rows with the present of the query, if a subscription asks for it. A micro-batch has its own (`segment.pins`).

    A stream does without the column: Spark compiles the plan of each micro-batch anew, which takes longer with it.
    """
    from pyspark.sql import functions

    if asked.now is not None or rows.isStreaming or not outline_of(folder).wanted.clock:
        return rows
    return rows.withColumn(NOW, functions.current_timestamp())


def restored(numbered: pa.RecordBatch, asked: MatchOptions) -> tuple[pa.RecordBatch, MatchOptions]:
    """A batch of `plain` rows, perhaps with the present, under their own names, and the options with the present."""
    rows, own = at_present(numbered, asked)
    return rows.rename_columns(list(asked.columns)), own


def _checked_columns(
    columns: list[str], attributes: list[str] | None, event_id: str | None, *, explode: bool
) -> list[str]:
    """The columns that are attributes; raises `InvalidInput` if the options do not fit the columns."""
    doubled = [name for name in columns if columns.count(name) > 1]
    if doubled:
        raise InvalidInput(f"the events have the column {doubled[0]!r} twice; rename one")
    missing = [name for name in attributes or () if name not in columns]
    if missing:
        raise InvalidInput(f"attributes names {missing[0]!r}, which is not a column; the columns are {columns}")
    if explode and event_id not in columns:
        raise InvalidInput(
            f"explode=True needs event_id, the name of a column; it is {event_id!r}, and the columns are {columns}"
        )
    if event_id is not None and not explode:
        raise InvalidInput("event_id needs explode=True; without it every column is kept")
    taken = [name for name in (MATCHES, ERROR) if name in columns and not explode]
    if taken:
        raise InvalidInput(f"the events have a column {taken[0]!r} already, which the result needs; rename it")
    return columns if attributes is None else list(dict.fromkeys(attributes))


def _checked_points(points: Points | None, names: list[str] | None) -> Points:
    """The attributes that combine two others; raises `InvalidInput` if one of these is not a column."""
    made = checked_points(points)
    for name, pair in made.items():
        missing = [one for one in pair if names is not None and one.partition(".")[0] not in names and one not in names]
        if missing:
            raise InvalidInput(
                f"points makes {name!r} of {missing[0]!r}, which is not an attribute; the attributes are {names}"
            )
    return made


def _checked_types(schema: Mapping[str, ColumnType] | None, names: list[str] | None) -> dict[str, ColumnType]:
    """The types of some attributes; raises `InvalidInput` for an unknown type or column."""
    types = checked_types(schema)
    for name, how in texts_in(types).items():
        if how != PLAIN:
            raise InvalidInput(
                f"schema gives {name!r} the type {str(types[name])!r}; on Spark write 'text', and let each "
                "subscription say how "
                f"words are made: TEXT({name_text(name)}, 'words', '{how}')"
            )
    for name in types:
        if names is not None and not any(name == one or name.startswith(f"{one}.") for one in names):
            raise InvalidInput(f"schema names {name!r}, which is not an attribute; the attributes are {names}")
    return dict(types)


def _checked_extra(events: DataFrame, json: str | None, corrupt: str | None, attributes: list[str] | None) -> list[str]:
    """The columns `json` and `corrupt`; raises `InvalidInput` if they cannot be used for that."""
    from pyspark.sql.types import StringType

    if json is not None and attributes is not None:
        raise InvalidInput(
            "json names the column that holds whole events; attributes names single columns; give only one of the two"
        )
    for option, name in (("json", json), ("corrupt", corrupt)):
        if name is not None and name not in events.columns:
            raise InvalidInput(f"{option} names {name!r}, which is not a column; the columns are {events.columns}")
        if name is not None and not isinstance(events.schema[name].dataType, StringType):
            kind = events.schema[name].dataType.simpleString()
            raise InvalidInput(f"{option} names {name!r}, a column of {kind}; it must be a column of strings")
    return [name for name in (json, corrupt) if name is not None]
