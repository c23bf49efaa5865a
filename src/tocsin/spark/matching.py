"""How are events on Spark matched? Each worker maps the index and answers its own events: no shuffle, no broadcast.

Workers keep what they mapped by (path, version); the pages are shared by all of a machine's processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tocsin.columns.events.tables import encode_table
from tocsin.errors import InvalidInput
from tocsin.index import Found, question_of
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject
from tocsin.segment import IndexFolder, Snapshots
from tocsin.spark.schemas import ERROR, MATCHES, exploded_schema, matched_schema

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
) -> DataFrame:
    """Match a DataFrame of events against a compiled index.

    Every input column is kept, and `matches: array<struct<subscription, score>>` (by id or, ranked, best first) and
    `error: string` are added: `error` says what could not be taken; `matches` is null where that was the whole event.
    All columns are attributes unless `attributes` names some; structs flatten to dotted names, and so do maps with
    string keys. With `explode=True` the result is one row a match, `event_id`, `subscription`, `score`, where
    `event_id` names the column that tells events apart; rejected events and fields do not show in that form.

    The version that is current when this is called is the one that all tasks use. Lazy, like any transformation.
    """
    folder = IndexFolder.read(Path(index).absolute())
    question_of(ranking)  # which refuses what is none
    names = _checked_columns(events.columns, attributes, event_id, explode=explode)
    if explode:
        assert event_id is not None
        chosen = list(dict.fromkeys([event_id, *names]))
        task = _matcher(folder, chosen, names, ranking, event_id)
        return plain(events, chosen).mapInArrow(task, exploded_schema(events.schema[event_id], folder.ids))
    task = _matcher(folder, events.columns, names, ranking, None)
    return plain(events, events.columns).mapInArrow(task, matched_schema(events.schema, folder.ids))


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


def _matcher(
    folder: IndexFolder, columns: list[str], attributes: list[str], ranking: Ranking | None, event_id: str | None
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What a task runs: `matched_batch` or `exploded_batch` on each of its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        snapshots = opened(folder)
        for numbered in batches:
            batch = numbered.rename_columns(columns)
            if event_id is None:
                yield matched_batch(batch, attributes, snapshots, ranking)
            else:
                yield exploded_batch(batch, attributes, snapshots, ranking, event_id)

    return run


@lru_cache(maxsize=2)
def opened(folder: IndexFolder) -> Snapshots:
    """A version's segments, mapped once a worker."""
    return folder.open()


def matched_batch(
    batch: pa.RecordBatch, attributes: list[str], snapshots: Snapshots, ranking: Ranking | None
) -> pa.RecordBatch:
    """The batch with its matches and errors."""
    encoded = encode_table(batch.select(attributes), snapshots.wanted)
    found = snapshots.find(encoded, ranking)
    served = np.zeros(batch.num_rows, bool)
    served[encoded.rows] = True
    owners = encoded.rows[found.events]
    offsets = np.searchsorted(owners, np.arange(batch.num_rows + 1))
    values = pa.StructArray.from_arrays(_ids_and_scores(snapshots, found), names=["subscription", "score"])
    matches = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(~served))
    columns = [*batch.columns, matches, _errors(encoded.rejects, batch.num_rows)]
    return pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, MATCHES, ERROR])


def exploded_batch(
    batch: pa.RecordBatch, attributes: list[str], snapshots: Snapshots, ranking: Ranking | None, event_id: str
) -> pa.RecordBatch:
    """A row for each match of the batch."""
    encoded = encode_table(batch.select(attributes), snapshots.wanted)
    found = snapshots.find(encoded, ranking)
    rows = batch.column(event_id).take(pa.array(encoded.rows[found.events]))
    columns = [rows, *_ids_and_scores(snapshots, found)]
    return pa.RecordBatch.from_arrays(columns, names=["event_id", "subscription", "score"])


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
