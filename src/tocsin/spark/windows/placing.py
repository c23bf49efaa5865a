"""Placing the subscriptions that a window begins with: jobs of Spark that count words, and deal out copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.model.texts import Text
from tocsin.model.window import Bounds
from tocsin.placement import HASH, LOCATION, Profile, homes_of, splits_of
from tocsin.placement.hashing import Hashes, hashes_of
from tocsin.records import TableChunk
from tocsin.spark.names import PARTITION
from tocsin.spark.windows.copies import KEYWORD, NO_COUNTS, PREFIX, Placing, one_copy_each, rarest_words, words_led
from tocsin.spark.windows.edits import DICE
from tocsin.spark.windows.packets import SEAT, SUBSCRIPTIONS, bytes_of
from tocsin.spark.windows.routing import Routes, bits_of
from tocsin.spark.windows.seats import seats
from tocsin.spark.windows.settings import Settings
from tocsin.spark.workers import Batches, Task
from tocsin.window.keys import Keys
from tocsin.window.parts import COPIES
from tocsin.window.reading import CheckedSubscriptions, Reader
from tocsin.window.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Counts: TypeAlias = tuple[Hashes, Hashes]
"""Hashes of words, or numbers of cells, ascending; and a number for each."""

Dice: TypeAlias = NDArray[np.int64]
"""Hashes of ids."""

Counting: TypeAlias = Callable[[CheckedSubscriptions, Dice], tuple[Hashes, NDArray[Any]]]
"""Tells a number for each word of a batch of subscriptions."""

_CELLS: Final = 256
"""Places are counted in so many columns and rows of cells."""


class Placed(NamedTuple):
    """Subscriptions in chunks, several rows per partition, and where later ones and messages go."""

    chunks: DataFrame
    placing: Placing


def placed(subscriptions: DataFrame, settings: Settings, *, changes: bool) -> Placed:
    """Place subscriptions. Except by `hash` this takes some jobs over them, and brings all words to the driver."""
    partitions = settings.partitions
    together = _by_id(subscriptions, partitions)
    if settings.placement == HASH:
        placing = Placing(HASH, partitions, Routes.everywhere(partitions))
        return Placed(_chunks(together, partitions), placing)
    together = together.sortWithinPartitions(PARTITION, *_orderable(together))

    def count(of: Counting, gathered: str) -> Counts:
        return _counts(together.mapInArrow(_each(of, settings), "word bigint, number bigint"), gathered)

    placing = placing_of(settings, count, changes=changes)
    dealt = together.mapInArrow(_dealer(placing, settings), _with_copies(together))
    return Placed(_chunks(dealt, partitions), placing)


def placing_of(settings: Settings, count: Callable[[Counting, str], Counts], *, changes: bool) -> Placing:
    """The placement of subscriptions that `count` counts: it gathers what a function tells of each batch of them."""
    name, partitions = settings.placement, settings.partitions
    words = count(_words, "sum")
    splits, owners = np.zeros(0), None
    if name == LOCATION:
        splits = splits_of(partitions, _boxes(count(_cells_of(settings), "sum"), settings))
    if name == PREFIX:
        owners = _owners(partitions, *count(lambda some, _: _rarest(some, *words), "sum"))
    elif name == KEYWORD or changes:
        owners = _owners(partitions, *words)
    placing = Placing(name, partitions, Routes(*NO_COUNTS), owners, words, splits)
    led = NO_COUNTS if name == KEYWORD else count(_led(placing), "bit_or")
    is_owned = owners is not None and (name == KEYWORD or changes)
    return placing._replace(routes=Routes.owned(*led, owners) if owners is not None and is_owned else Routes(*led))


def _by_id(subscriptions: DataFrame, partitions: int) -> DataFrame:
    """Deal out rows by a hash of the id, so that equal ids meet."""
    from pyspark.sql import functions

    dice = hash_of_id(subscriptions)
    number = functions.pmod(dice, functions.lit(partitions)).cast("int")
    dealt = subscriptions.withColumn(PARTITION, number).withColumn(DICE, dice)
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
            data = bytes_of(table.drop_columns([PARTITION, DICE]))
            columns = [pa.array([seat], pa.int32()), pa.array([place]), pa.array([data])]
            yield pa.RecordBatch.from_arrays(columns, names=[SEAT, "place", "data"])

    return run


# Counts of words and cells


def _counts(words: DataFrame, gathered: str) -> Counts:
    """A number for each word, on the driver."""
    from pyspark.sql import functions

    table = words.groupBy("word").agg(functions.expr(f"{gathered}(number)").alias("number")).toArrow()
    hashes, numbers = (table[name].to_numpy().astype(np.int64).view(np.uint64) for name in ("word", "number"))
    order = np.argsort(hashes)
    return hashes[order], numbers[order]


def _each(of: Counting, settings: Settings) -> Task:
    """A task that gives a number for each word of a batch."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            hashes, numbers = of(checked(batch, settings), batch.column(DICE).to_numpy())
            columns = [pa.array(hashes.view(np.int64)), pa.array(numbers.astype(np.uint64).view(np.int64))]
            yield pa.RecordBatch.from_arrays(columns, names=["word", "number"])

    return run


def checked(batch: pa.RecordBatch, settings: Settings) -> CheckedSubscriptions:
    """The subscriptions of a batch, as a window reads them."""
    reader = Reader(Bounds.of(settings.bounds), Text.of(settings.text), False, Vocabulary({}), Keys())
    content = batch.drop_columns([name for name in (PARTITION, DICE) if name in batch.schema.names])
    return reader.checked_subscriptions(TableChunk(content, np.arange(batch.num_rows)))


def _words(subscriptions: CheckedSubscriptions, _: Dice) -> tuple[Hashes, NDArray[Any]]:
    lists = subscriptions.lists
    return hashes_of(lists.distinct), np.bincount(lists.numbers, minlength=len(lists.distinct))


def _rarest(subscriptions: CheckedSubscriptions, words: Hashes, counts: Hashes) -> tuple[Hashes, NDArray[Any]]:
    rarest, distinct = rarest_words(subscriptions.lists, words, counts), subscriptions.lists.distinct
    return hashes_of(distinct), np.bincount(rarest[rarest >= 0], minlength=len(distinct))


def _cells_of(settings: Settings) -> Counting:
    bounds = Bounds.of(settings.bounds)

    def run(subscriptions: CheckedSubscriptions, _: Dice) -> tuple[Hashes, NDArray[Any]]:
        return np.unique(cells(subscriptions.places[subscriptions.good], bounds), return_counts=True)

    return run


def cells(places: NDArray[np.float64], bounds: Bounds) -> Hashes:
    """The number of each place's cell."""
    sides = np.array([max(bounds.right - bounds.left, 1e-300), max(bounds.upper - bounds.lower, 1e-300)])
    columns_rows = np.clip((places - [bounds.left, bounds.lower]) / sides * _CELLS, 0, _CELLS - 1).astype(np.uint64)
    numbers: Hashes = columns_rows[:, 1] * np.uint64(_CELLS) + columns_rows[:, 0]
    return numbers


def _boxes(counted: Counts, settings: Settings) -> NDArray[np.float64]:
    """The middle of each cell, as often as it has places, up to a million in all."""
    (numbers, counts), bounds = counted, Bounds.of(settings.bounds)
    least = max(int(counts.sum()) // 1_000_000, 1)
    x = bounds.left + (numbers % np.uint64(_CELLS) + 0.5) * (bounds.right - bounds.left) / _CELLS
    y = bounds.lower + (numbers // np.uint64(_CELLS) + 0.5) * (bounds.upper - bounds.lower) / _CELLS
    return np.repeat(np.stack([x, y, x, y], 1), -(-counts.astype(np.int64) // least), axis=0)


def _owners(partitions: int, words: Hashes, counts: Hashes) -> Any:
    """The owners of words, so that partitions have similar numbers of subscriptions."""
    numbers = counts.astype(np.int64)
    return homes_of(partitions, Profile(int(numbers.sum()), 0, words, numbers, np.zeros(len(words))))


def _led(placing: Placing) -> Counting:
    """The words of all subscriptions, and the partitions where these have their first copy."""

    def run(subscriptions: CheckedSubscriptions, dice: Dice) -> tuple[Hashes, NDArray[Any]]:
        return words_led(subscriptions.lists, bits_of(placing.homes(subscriptions.lists, subscriptions.places, dice)))

    return run


# Copies


def _with_copies(frame: DataFrame) -> Any:
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*frame.schema.fields, StructField(COPIES, LongType())])


def _dealer(placing: Placing, settings: Settings) -> Task:
    """Makes a row for each copy of a subscription."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        dealing = Dealing(placing)
        for batch in batches:
            if batch.num_rows:
                rows, partitions, masks = dealing.dealt(batch, checked(batch, settings))
                column = batch.schema.get_field_index(PARTITION)
                copied = batch.take(pa.array(rows)).set_column(column, PARTITION, pa.array(partitions, pa.int32()))
                yield copied.append_column(COPIES, pa.array(masks.view(np.int64)))

    return run


class Dealing:
    """Deals subscriptions, sorted by id, to the partitions of their copies.

    Of several with one id the first good one counts. All others are rejected, each by one partition: a later one by a
    partition that has a copy of the first.
    """

    def __init__(self, placing: Placing) -> None:
        self._placing = placing
        self._id, self._copies = None, 0

    def dealt(
        self, batch: pa.RecordBatch, subscriptions: CheckedSubscriptions
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Hashes]:
        """The row and the partition of each copy, and the mask of all copies of its subscription."""
        dice = batch.column(DICE).to_numpy()
        copies = self._placing.copies(subscriptions.lists, subscriptions.places, dice)
        copies = np.where(copies, copies, bits_of(dice % self._placing.partitions))
        is_good = np.zeros(batch.num_rows, bool)
        is_good[subscriptions.good] = True
        masks, dealt = copies.copy(), copies.copy()
        for row, (id, good) in enumerate(zip(batch.column("id").to_pylist(), is_good.tolist(), strict=True)):
            if id != self._id:
                self._id, self._copies = id, 0
            if good and not self._copies:
                self._copies = int(copies[row])
                continue
            masks[row] = self._copies or copies[row]
            dealt[row] = masks[row] & (~masks[row] + np.uint64(1))
            if not good:
                masks[row] = dealt[row]
        rows, partitions = one_copy_each(dealt)
        return rows, partitions, masks[rows]
