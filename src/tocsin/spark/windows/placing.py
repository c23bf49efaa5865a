"""Placing the subscriptions of a window: by a hash of the id, or by the rarest word, with routes for messages.

With `hash` every message goes to all partitions. With `prefix` subscriptions with a rare word in common share a
partition, and a message goes only to partitions with one of its words. Each subscription is on one partition, and all
its words route there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.model.texts import Text
from tocsin.placement import HASH
from tocsin.placement.hashing import Hashes, hashes_of
from tocsin.records import TableChunk
from tocsin.spark.names import PARTITION
from tocsin.spark.windows.packets import SEAT, SUBSCRIPTIONS, bytes_of
from tocsin.spark.windows.routing import Routes
from tocsin.spark.windows.seats import seats
from tocsin.spark.workers import Batches, Task
from tocsin.window.fields import Fields, WordLists, words_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PREFIX: Final = "prefix"
PLACEMENTS: Final = (HASH, PREFIX)


class Placed(NamedTuple):
    """Subscriptions in chunks, several rows per partition, and the routes of messages."""

    chunks: DataFrame
    routes: Routes


def placed(subscriptions: DataFrame, placement: str, partitions: int, text: Text) -> Placed:
    """Place subscriptions. `prefix` takes two jobs over them, and brings all words to the driver."""
    if placement == HASH:
        return Placed(_chunks(_by_id(subscriptions, partitions), partitions), Routes.everywhere(partitions))
    together = _by_id(subscriptions, partitions).sortWithinPartitions(PARTITION, *_orderable(subscriptions))
    counts = _told(together.mapInArrow(_counter(text), "word bigint, count bigint"), "sum(count)")
    dealt = together.mapInArrow(_dealer(text, partitions, *counts), together.schema)
    led = dealt.mapInArrow(_leader(text), "word bigint, mask bigint")
    return Placed(_chunks(dealt, partitions), Routes(*_told(led, "bit_or(mask)")))


def _told(words: DataFrame, gathered: str) -> tuple[Hashes, Hashes]:
    """A number for each word, on the driver."""
    from pyspark.sql import functions

    table = words.groupBy("word").agg(functions.expr(gathered).alias("told")).toArrow()
    hashes, told = (table[name].to_numpy().astype(np.int64).view(np.uint64) for name in ("word", "told"))
    order = np.argsort(hashes)
    return hashes[order], told[order]


def _by_id(subscriptions: DataFrame, partitions: int) -> DataFrame:
    """Deal out rows by a hash of the id, so that equal ids meet."""
    from pyspark.sql import functions

    number = functions.pmod(hash_of_id(subscriptions), functions.lit(partitions)).cast("int")
    dealt = subscriptions.withColumn(PARTITION, number)
    return dealt.repartitionById(partitions, functions.col(PARTITION))


def hash_of_id(frame: DataFrame) -> Column:
    """Spark's hash of a frame's ids; equal ids have equal hashes, whatever the width of an integer."""
    from pyspark.sql import functions
    from pyspark.sql.types import StringType

    kind = "string" if isinstance(frame.schema["id"].dataType, StringType) else "bigint"
    return functions.xxhash64(functions.col("id").cast(kind))


def _orderable(frame: DataFrame) -> list[str]:
    """The columns that Spark can sort by, the id first."""
    from pyspark.sql.types import MapType

    names = [field.name for field in frame.schema if not isinstance(field.dataType, MapType)]
    return ["id", *(name for name in names if name not in ("id", PARTITION))]


def _chunks(dealt: DataFrame, partitions: int) -> DataFrame:
    """The subscriptions of each partition in chunks, by id; the same in every run."""
    from pyspark.sql import functions

    together = dealt.repartitionById(partitions, functions.col(PARTITION))
    return together.sortWithinPartitions(PARTITION, *_orderable(dealt)).mapInArrow(_chunker(partitions), SUBSCRIPTIONS)


def _chunker(partitions: int) -> Task:
    """Makes rows of SUBSCRIPTIONS from the subscriptions of one partition."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        for place, batch in enumerate(filled):
            table = pa.Table.from_batches([batch])
            seat = seats(partitions)[table[PARTITION][0].as_py()]
            data = bytes_of(table.drop_columns(PARTITION))
            columns = [pa.array([seat], pa.int32()), pa.array([place]), pa.array([data])]
            yield pa.RecordBatch.from_arrays(columns, names=[SEAT, "place", "data"])

    return run


# By words


def _counter(text: Text) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lists = lists_of(batch, text)
            counts = np.bincount(lists.numbers, minlength=len(lists.distinct))
            yield _pairs(hashes_of(lists.distinct), counts, ["word", "count"])

    return run


def _dealer(text: Text, partitions: int, words: Hashes, counts: Hashes) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        before: tuple[object, int] = (None, 0)
        for batch in batches:
            if batch.num_rows:
                homes = by_rarest(lists_of(batch, text), words, counts, partitions)
                ids = batch.column("id").to_pylist()
                for row, id in enumerate(ids):  # a repeated id is rejected in the partition of the first one
                    if id == before[0]:
                        homes[row] = before[1]
                    before = id, int(homes[row])
                at = batch.schema.get_field_index(PARTITION)
                yield batch.set_column(at, PARTITION, pa.array(homes, pa.int32()))

    return run


def _leader(text: Text) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            homes = batch.column(PARTITION).to_numpy()
            yield _pairs(*led(lists_of(batch, text), homes), ["word", "mask"])

    return run


def led(lists: WordLists, homes: NDArray[np.integer]) -> tuple[Hashes, Hashes]:
    """The words of some subscriptions, and the partitions that each routes to, one bit each."""
    masks = np.zeros(len(lists.distinct), np.uint64)
    bits = np.uint64(1) << homes.astype(np.uint64)
    np.bitwise_or.at(masks, lists.numbers, np.repeat(bits, np.diff(lists.starts)))
    return hashes_of(lists.distinct), masks


def lists_of(batch: pa.RecordBatch, text: Text) -> WordLists:
    """The words of subscriptions; none for invalid ones."""
    return words_in(Fields(TableChunk(batch, np.arange(batch.num_rows))), text)


def by_rarest(lists: WordLists, words: Hashes, counts: Hashes, partitions: int) -> NDArray[np.int64]:
    """The partition given by a hash of each subscription's rarest word; the first one if it has no word."""
    homes, hashes = np.zeros(len(lists.starts) - 1, np.int64), hashes_of(lists.distinct)
    filled = np.flatnonzero(np.diff(lists.starts))
    if len(filled):
        known = counts[np.minimum(np.searchsorted(words, hashes), len(counts) - 1)]
        order = np.lexsort((hashes, known))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        rarest = order[np.minimum.reduceat(rank[lists.numbers], lists.starts[filled])]
        homes[filled] = hashes[rarest] % np.uint64(partitions)
    return homes


def _pairs(hashes: Hashes, numbers: NDArray[np.integer], names: list[str]) -> pa.RecordBatch:
    columns = [pa.array(hashes.view(np.int64)), pa.array(numbers.astype(np.uint64).view(np.int64))]
    return pa.RecordBatch.from_arrays(columns, names=names)
