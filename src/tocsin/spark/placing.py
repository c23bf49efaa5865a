"""Placing subscriptions in partitions: the placement is planned on a sample, then subscriptions are dealt out.

Rows with one id meet first. So the usual one of several subscriptions with an id is kept, and all copies are of that
one. Rejected rows travel with their reason, and are written with the rejects of the compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import InvalidInput
from tocsin.index import Part, Statistics, choose
from tocsin.index.elements import with_conditions
from tocsin.language import Templates
from tocsin.placement import AUTO, Placement, PlacementReport, check_placement, routed_plan
from tocsin.placement.hashing import hashes_of_ids
from tocsin.records import chunk_of
from tocsin.segment import SegmentBuilder
from tocsin.segment.outlines import bytes_each
from tocsin.spark.answering import MatchOptions, encoded_events
from tocsin.spark.asking import asked_of, plain
from tocsin.spark.names import COPY, FIELD, KEYS, PARTITION, REASON, SUBSCRIPTION_FIELDS
from tocsin.spark.schemas import PLACED_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterable[pa.RecordBatch]
SUBSCRIPTIONS: Final = 50_000
"""The default number of subscriptions for planning a placement."""
EVENTS: Final = 10_000
_PIECE_ROWS: Final = 8192


def plan(
    subscriptions: DataFrame,
    *,
    partitions: int = 8,
    placement: str = AUTO,
    statistics: Statistics | None = None,
    events: DataFrame | None = None,
    attributes: list[str] | None = None,
    json: str | None = None,
    sample: int = SUBSCRIPTIONS,
    memory: int | None = None,
) -> PlacementReport:
    """Predict the cost of a placement before building it: copies, visits of events, and the balance of partitions.

    Parameters
    ----------
    subscriptions
        As in `tocsin.spark.compile`.
    partitions : int
        The number of partitions.
    placement : str
        "hash", "location", "keyword", "prefix", "access" or "auto". "auto" chooses the placement with the fewest
        subscriptions examined per event; if events are sent to parts, by the busiest part.
    statistics : Statistics, optional
        How often events have each attribute and value. Default: estimated from the subscriptions.
    events : pyspark.sql.DataFrame, optional
        Events as for `match`, of which the first 10,000 are used. Default: the shares of the keys are used instead.
    attributes
        As in `tocsin.spark.match`.
    json
        As in `tocsin.spark.match`.
    sample : int
        The number of subscriptions by which to plan, chosen by the hashes of their ids.
    memory : int, optional
        The memory of a worker's machine, in bytes. Default: that of the calling machine.

    Returns
    -------
    PlacementReport
        The prediction. It also says whether the index is expected to fit half of `memory`, or events are sent to its
        parts.

    Raises
    ------
    InvalidInput
        For missing columns or invalid options.

    Notes
    -----
    Runs a few jobs over the subscriptions, and one over the events.
    """
    check_placement(placement, partitions)
    part = part_of(some_of(read(subscriptions), checked_sample(sample)))
    batches = [] if events is None else _batches(events, asked_of(events, attributes, json=json), part)
    size = bytes_each(part, choose("auto", statistics)) * subscriptions.count()
    return routed_plan(part, placement, partitions, statistics, batches, size, memory)


def checked_sample(sample: int) -> int:
    """The sample size; raises `InvalidInput` if it is not a positive integer."""
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 1:
        raise InvalidInput(f"sample is {sample!r:.40}; it must be an integer of at least 1")
    return sample


def read(subscriptions: DataFrame) -> DataFrame:
    """The columns of subscriptions, with integer ids widened to 64 bits."""
    from pyspark.sql import functions
    from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

    if "id" not in subscriptions.columns or not {"where", "predicates"} & set(subscriptions.columns):
        raise InvalidInput(
            f"subscriptions need the columns id and where (or predicates); the columns are {subscriptions.columns}"
        )
    kind = subscriptions.schema["id"].dataType
    if not isinstance(kind, StringType | ByteType | ShortType | IntegerType | LongType):
        raise InvalidInput(f"the column id is {kind.simpleString()}; ids are strings or integers")
    chosen = subscriptions.select(*(name for name in SUBSCRIPTION_FIELDS if name in subscriptions.columns))
    return chosen if isinstance(kind, StringType) else chosen.withColumn("id", functions.col("id").cast("long"))


def some_of(subscriptions: DataFrame, count: int) -> pa.Table:
    """The subscriptions with the smallest hashes of ids, independent of how rows are partitioned."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        kept = least_hashed(batches, count)
        yield from [] if kept is None else kept.to_batches()

    found = subscriptions.mapInArrow(run, subscriptions.schema).toArrow()
    kept = least_hashed(found.to_batches(), count)
    return found if kept is None else kept


def least_hashed(batches: Batches, count: int) -> pa.Table | None:
    """At most `count` rows, those with the smallest hashes of ids."""
    kept: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        both = table if kept is None else pa.concat_tables([kept, table])
        hashes = hashes_of_ids(both["id"].combine_chunks().fill_null("" if _has_texts(both) else 0))
        kept = both.take(pa.array(np.sort(np.argsort(hashes, kind="stable")[:count])))
    return kept


def _has_texts(table: pa.Table) -> bool:
    kind = table.schema.field("id").type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def part_of(table: pa.Table) -> Part:
    """The valid subscriptions of some rows, compiled."""
    return built(in_order(table)).part()


def built(ordered: pa.Table) -> SegmentBuilder:
    """The subscriptions of some rows, compiled piece by piece."""
    builder, templates = SegmentBuilder(), Templates()
    for first in range(0, ordered.num_rows, _PIECE_ROWS):
        records = ordered.slice(first, _PIECE_ROWS).to_pylist()
        builder.add(chunk_of(enumerate(records, first), templates, []))
    return builder


def in_order(table: pa.Table) -> pa.Table:
    """The rows in an order independent of Spark's. Of equal ids the first text is kept."""
    keys = [(name, "ascending") for name in ("id", "where", "score") if name in table.column_names]
    return table.sort_by(keys)


def _batches(events: DataFrame, asked: MatchOptions, part: Part) -> list[EventBatch]:
    """The first events, encoded for the router."""
    wanted = Wanted(part.compiled.attributes)
    table = plain(events, list(asked.columns)).limit(EVENTS).toArrow()
    found: list[EventBatch] = []
    for batch in table.rename_columns(list(asked.columns)).combine_chunks().to_batches():
        found.extend(with_conditions(one, wanted) for one in encoded_events(batch, asked, wanted)[0])
    return found


def by_hash(subscriptions: DataFrame, partitions: int) -> DataFrame:
    """Give each subscription a partition by a hash of its id, so that equal ids meet."""
    from pyspark.sql import functions

    number = functions.pmod(functions.xxhash64("id"), functions.lit(partitions)).cast("int")
    return subscriptions.withColumn(PARTITION, number).repartitionById(partitions, functions.col(PARTITION))


def by_placement(subscriptions: DataFrame, placement: Placement) -> DataFrame:
    """Give each subscription the partitions of a placement, with the routing keys that lead there."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    together = by_hash(subscriptions, placement.partitions).drop(PARTITION)
    schema = StructType([*subscriptions.schema.fields, *PLACED_FIELDS])
    dealt = together.mapInArrow(_dealer(placement), schema)
    return dealt.repartitionById(placement.count, functions.col(PARTITION))


def _dealer(placement: Placement) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The task: `deal` on its batches."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled:
            yield from deal(pa.Table.from_batches(filled), placement).to_batches()

    return run


def deal(table: pa.Table, placement: Placement) -> pa.Table:
    """A row per copy of each subscription, with its partition and keys, and a row per reject."""
    ordered = in_order(table)
    builder = built(ordered)
    part, rejects = builder.part(), builder.rejects
    refused = np.array([reject.row for reject in rejects], np.int64)
    taken = np.setdiff1d(np.arange(ordered.num_rows), refused)
    assignment = placement.assign(part)
    first = np.flatnonzero(assignment.is_first)
    owners = assignment.owners[first]
    nothing = pa.nulls(len(first), pa.string())
    offsets = np.concatenate([first, np.full(len(rejects) + 1, len(assignment.keys))])
    partitions = np.concatenate([assignment.partitions[first], np.zeros(len(rejects), np.int64)])
    is_copy = np.concatenate([np.diff(owners, prepend=-1) == 0, np.zeros(len(rejects), bool)])
    columns = {
        PARTITION: pa.array(partitions, pa.int32()),
        KEYS: pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(assignment.keys.view(np.int64))),
        COPY: pa.array(is_copy),
        FIELD: pa.concat_arrays([nothing, pa.array([reject.field for reject in rejects], pa.string())]),
        REASON: pa.concat_arrays([nothing, pa.array([reject.reason for reject in rejects], pa.string())]),
    }
    rows = ordered.take(pa.array(np.concatenate([taken[owners], refused])))
    return pa.Table.from_arrays([*rows.columns, *columns.values()], [*rows.column_names, *columns])
