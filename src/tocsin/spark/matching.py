"""How are events on Spark matched? Each worker maps the index and answers its own events: no shuffle, no broadcast.

Workers keep what they mapped; the pages are shared by all of a machine's processes. Of a stream, the first task of a
micro-batch records which version the micro-batch uses (`segment/pins.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.tables import encode_table
from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import Found, question_of
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject
from tocsin.segment import IndexFolder, Snapshots
from tocsin.segment.mapping import mapped
from tocsin.segment.pins import pinned
from tocsin.spark.observing import observed, with_work, work_column
from tocsin.spark.schemas import ERROR, MATCHES, WORK, exploded_schema, matched_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterable[pa.RecordBatch]


def match(
    events: DataFrame,
    index: str | Path,
    *,
    attributes: list[str] | None = None,
    ranking: Ranking | None = None,
    explode: bool = False,
    event_id: str | None = None,
    observe: str | None = None,
) -> DataFrame:
    """Match a DataFrame of events against a compiled index; batch, or Structured Streaming.

    Every input column is kept, and `matches: array<struct<subscription, score>>` (by id or, ranked, best first) and
    `error: string` are added: `error` says what could not be taken; `matches` is null where that was the whole event.
    All columns are attributes unless `attributes` names some; structs flatten to dotted names, and so do maps with
    string keys. With `explode=True` the result is one row a match, `event_id`, `subscription`, `score`, where
    `event_id` names the column that tells events apart; rejected events and fields do not show in that form.

    Of a batch, all tasks use the version that is current when this is called. Of a stream, each micro-batch uses the
    one that is current when it begins, which the index folder records: a replay uses the same again. `observe` names
    an observation (a `StreamingQueryListener` gets it, or `pyspark.sql.Observation`) of `events`, `matches`,
    `rejected`, `candidates`, `verified` and `index_version`.

    Lazy, like any transformation. Raises `InvalidInput` for options that do not fit the columns, `SegmentError` for
    what is no index.
    """
    folder = IndexFolder.read(Path(index).absolute())
    question_of(ranking)  # which refuses what is none
    names = _checked_columns(events.columns, attributes, event_id, explode=explode)
    asked = Asked(tuple(events.columns), tuple(names), ranking, event_id, observe is not None)
    if explode:
        assert event_id is not None
        asked = replace(asked, columns=tuple(dict.fromkeys([event_id, *names])))
        schema = exploded_schema(events.schema[event_id], folder.ids)
    else:
        schema = matched_schema(events.schema, folder.ids)
    task = _matcher(folder, asked, follows=events.isStreaming)
    given = plain(events, list(asked.columns))
    if observe is None:
        return given.mapInArrow(task, schema)
    return observed(given.mapInArrow(task, with_work(schema)), observe, explode=explode)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a task is asked: the columns of its batches, which of them are attributes, and in which form to answer."""

    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    ranking: Ranking | None = None
    event_id: str | None = None  # a row a match, with this column
    tells_work: bool = False  # a column more, of what was done


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


def _matcher(folder: IndexFolder, asked: Asked, *, follows: bool) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What a task runs: `answer` on each of its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version = of_this_batch(folder) if follows else folder
        snapshots = opened(version)
        for numbered in batches:
            yield answer(numbered.rename_columns(list(asked.columns)), asked, snapshots, version.version)

    return run


def of_this_batch(folder: IndexFolder) -> IndexFolder:
    """The version that the micro-batch of this task uses; the one given, where the task is of none."""
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
    """A version's segments, mapped once a worker; versions share the parts that they have in common."""
    return Snapshots.of([part.now() for part in mapped(folder)])


def answer(batch: pa.RecordBatch, asked: Asked, snapshots: Snapshots, version: str = "") -> pa.RecordBatch:
    """A batch of events with its matches and errors, or a row for each match."""
    encoded = encode_table(batch.select(list(asked.attributes)), snapshots.wanted)
    found = snapshots.find(encoded, asked.ranking)
    answered = _matched if asked.event_id is None else _exploded
    columns = answered(batch, asked, snapshots, encoded, found)
    if asked.tells_work:
        refused = batch.num_rows - len(encoded.rows)
        matches = len(found.subscriptions)
        work = (batch.num_rows, matches, refused, found.candidates_examined, found.verified, version)
        columns = with_row(columns) if asked.event_id is not None else columns
        columns[WORK] = work_column(work, len(next(iter(columns.values()))))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def with_row(columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns with a row of nulls before all others, which is there where there is no other, too."""
    return {name: pa.concat_arrays([pa.nulls(1, one.type), one]) for name, one in columns.items()}


def _matched(
    batch: pa.RecordBatch, asked: Asked, snapshots: Snapshots, encoded: EventBatch, found: Found
) -> dict[str, pa.Array]:
    """The batch with its matches and errors."""
    served = np.zeros(batch.num_rows, bool)
    served[encoded.rows] = True
    owners = encoded.rows[found.events]
    offsets = np.searchsorted(owners, np.arange(batch.num_rows + 1))
    values = pa.StructArray.from_arrays(_ids_and_scores(snapshots, found), names=["subscription", "score"])
    matches = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(~served))
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    return {**given, MATCHES: matches, ERROR: _errors(encoded.rejects, batch.num_rows)}


def _exploded(
    batch: pa.RecordBatch, asked: Asked, snapshots: Snapshots, encoded: EventBatch, found: Found
) -> dict[str, pa.Array]:
    """A row for each match of the batch."""
    rows = batch.column(asked.event_id).take(pa.array(encoded.rows[found.events]))
    ids, scores = _ids_and_scores(snapshots, found)
    return {"event_id": rows, "subscription": ids, "score": scores}


def _ids_and_scores(snapshots: Snapshots, found: Found) -> list[pa.Array]:
    """What was found, in the types that Spark wants."""
    kind = pa.int64() if pa.types.is_integer(snapshots.id_type) else pa.string()
    scores = snapshots.scores_of(found.subscriptions) if found.scores is None else found.scores
    return [snapshots.ids_of(found.subscriptions).cast(kind), pa.array(scores)]


def _errors(rejects: list[Reject], count: int) -> pa.Array:
    """What was wrong with each event, null where nothing was."""
    reasons: dict[int, list[str]] = {}
    for reject in rejects:
        reasons.setdefault(reject.row, []).append(f"{reject.field}: {reject.reason}" if reject.field else reject.reason)
    return pa.array(["; ".join(reasons[row]) if row in reasons else None for row in range(count)], pa.string())
