"""The best recent messages for every subscription, kept by a cluster: a stream in, changes or lists out.

There are three steps. One task numbers and packs the messages of a micro-batch (`numbering.py`). A shuffle brings each
partition its packets. Spark's `transformWithState` keeps the window of each partition (`processing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tocsin.errors import InvalidInput, needing
from tocsin.model.texts import PLAIN, Text
from tocsin.model.window import Bounds
from tocsin.placement import HASH
from tocsin.spark.windows.copies import PLACEMENTS, Placing
from tocsin.spark.windows.edits import CHANGE, CHANGE_FIELDS, DICE, SUBSCRIPTION
from tocsin.spark.windows.numbering import FIELDS, Numbering
from tocsin.spark.windows.ordering import in_order
from tocsin.spark.windows.packets import PACKETS, REPORTS, SEAT, SEATS
from tocsin.spark.windows.placing import hash_of_id, placed
from tocsin.spark.windows.routing import MOST
from tocsin.spark.windows.settings import Settings
from tocsin.spark.workers import Batches, Task, settling
from tocsin.window.frequencies import BOOLEAN, TermFrequency

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKS: Final = "RocksDBStateStoreProvider"


def window(
    messages: DataFrame,
    subscriptions: DataFrame,
    *,
    changes: DataFrame | None = None,
    size: int | None = None,
    time: float | timedelta | None = None,
    bounds: Sequence[float],
    partitions: int = 8,
    order: str | Sequence[str] = (),
    placement: str = HASH,
    weights: Mapping[str, float] | None = None,
    text: Text | str = PLAIN,
    term_frequency: TermFrequency = BOOLEAN,
    index: str = "blocks",
    lists: bool = False,
) -> DataFrame:
    """Keep the best k recent messages of a stream for every subscription, like `tocsin.Window`.

    The window is the same as in one process, for any number of partitions, and after a restart from the checkpoint.

    Parameters
    ----------
    messages : pyspark.sql.DataFrame
        A streaming DataFrame with `words` (array of strings) or `text`, `location` (array of two numbers), and
        optionally `key` (string or integer) and `time`.
    subscriptions : pyspark.sql.DataFrame
        A table with `id`, `words` or `text`, `location`, and optionally `k` and `alpha`. It is read when the query
        starts for the first time.
    changes : pyspark.sql.DataFrame, optional
        A streaming DataFrame with later changes of subscriptions: the columns of `subscriptions`, those of `order`, and
        `change` ("insert", "update" or "delete"). An insert of an existing id, and an update of a missing one, store
        the subscription all the same. A deletion needs an id only, and one of a missing id changes nothing.
    size
        As in `tocsin.Window`.
    time
        As in `tocsin.Window`.
    bounds
        As in `tocsin.Window`.
    partitions : int
        The number of partitions, from 1 to 64.
    order : str or sequence of str
        The columns that order the messages of a micro-batch; ties are ordered by all columns. Default: `time`, in a
        window of time. Micro-batches follow one another. Changes are sorted among the messages. A change comes before a
        message that is equal in these columns.
    placement : str
        How subscriptions are spread. "hash": evenly, and every message goes to all partitions. "location":
        neighbours share a partition. "keyword": a subscription has a copy on the partition of each of its words.
        "prefix": subscriptions with a rare word in common share a partition. Except with "hash", a message goes to
        the partitions of its words.
    weights
        As in `tocsin.Window`.
    text
        As in `tocsin.Window`.
    term_frequency
        As in `tocsin.Window`.
    index
        As in `tocsin.Window`.
    lists : bool
        Whether each row is a list of best messages that changed, instead of a change.

    Returns
    -------
    pyspark.sql.DataFrame
        A streaming DataFrame with one row per change: `event` (the number of the message that caused it),
        `subscription`, `message` (its key or number), `kind` (`enter` or `exit`), `score` and `error`. A rejected
        message or subscription has the kind `refused`, and the reason in `error`. A change of a subscription makes
        rows, too, for what enters and exits its list; their `event` is the number of the next message.

        With `lists` there is one row for
        each list that changed in a micro-batch: `event` (the number of the last message), `subscription`, `best` (array
        of struct<message, score>, best first) and `error`.

    Raises
    ------
    InvalidInput
        For missing columns or invalid options, and without the state store of RocksDB
        (`spark.sql.streaming.stateStore.providerClass`).
    MissingExtra
        If protobuf is not installed.

    Notes
    -----
    All messages of a micro-batch go through one task. Except with "hash", the call takes some jobs over the
    subscriptions, and these must not change afterwards. A subscription with several copies has a home that merges their
    lists, in a second stateful operator. A checkpoint of another window is rejected.
    """
    _check(messages, partitions, placement)
    kept_order = _order(messages, order, has_time=time is not None)
    id_type, key_type = _type_of(subscriptions, "id"), _type_of(messages, "key") if "key" in messages.columns else None
    span = time.total_seconds() if isinstance(time, timedelta) else time
    how = text if isinstance(text, Text) else Text.of(text)
    settings = Settings(
        size=size,
        time=span,
        bounds=Bounds.of(bounds),
        weights=dict(weights or {}),
        text=str(how),
        term_frequency=term_frequency,
        index=index,
        partitions=partitions,
        placement=placement,
        id_type=id_type,
        key_type=key_type,
        lists=lists,
    )
    settings.window()  # raises an error for invalid settings
    chosen = subscriptions.select(*(name for name in SUBSCRIPTION if name in subscriptions.columns))
    chunks, placing = placed(chosen, settings, changes=changes is not None)
    settings = replace(settings, routes=placing.routes.digest(), has_homes=placing.is_shared)
    rows = messages.select(*dict.fromkeys(name for name in (*FIELDS, *kept_order) if name in messages.columns))
    if changes is not None:
        rows = with_changes(rows, changes, kept_order, id_type)
    return _kept(numbered(rows, kept_order, settings, placing), chunks, settings)


def with_changes(messages: DataFrame, changes: DataFrame, order: Sequence[str], id_type: str) -> DataFrame:
    """Messages and changes of subscriptions as rows of one stream, the changes in a column of their own."""
    from pyspark.sql import functions

    _check_changes(messages, changes, order, id_type)
    key = functions.col("id").cast("string" if id_type == "string" else "bigint")
    fields = [key.alias("id"), hash_of_id(changes).alias(DICE)]
    fields += [functions.col(name) for name in CHANGE_FIELDS[1:] if name in changes.columns]
    change = functions.struct(*fields).alias(CHANGE)
    blanks = [
        functions.col(field.name) if field.name in order else functions.lit(None).cast(field.dataType).alias(field.name)
        for field in messages.schema
    ]
    return messages.unionByName(changes.select(*blanks, change), allowMissingColumns=True)


def numbered(rows: DataFrame, order: Sequence[str], settings: Settings, placing: Placing) -> DataFrame:
    """The messages of a micro-batch in order, as packets, with the changes between them."""
    from pyspark.sql import functions

    packed = rows.repartition(1).mapInArrow(settling(_numberer(order, settings, placing)), PACKETS)
    return packed.withColumn(SEAT, functions.explode(SEATS)).drop(SEATS)


def _numberer(order: Sequence[str], settings: Settings, placing: Placing) -> Task:
    """The task that numbers messages."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled:
            yield from Numbering(settings, placing).packed(in_order(pa.Table.from_batches(filled), order, CHANGE))

    return run


def _kept(packed: DataFrame, subscriptions: DataFrame, settings: Settings) -> DataFrame:
    """The answers of partitions; if subscriptions have homes, then through these, which are a second state."""
    with needing("spark"):
        import google.protobuf  # noqa: F401
    from tocsin.spark.windows.processing import HomeProcessor, Processor

    initial = subscriptions.groupBy(SEAT)
    told = REPORTS if settings.has_homes else answer_type(settings)
    answered = packed.groupBy(SEAT).transformWithStateInPandas(Processor(settings), told, "Update", "None", initial)
    if not settings.has_homes:
        return answered
    return answered.groupBy(SEAT).transformWithStateInPandas(
        HomeProcessor(settings), answer_type(settings), "Update", "None"
    )


def answer_type(settings: Settings) -> StructType:
    """The columns of the answer, in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from tocsin.spark.windows.answers import answer_schema

    return from_arrow_schema(answer_schema(settings))


def _check(messages: DataFrame, partitions: int, placement: str) -> None:
    if not messages.isStreaming:
        raise InvalidInput(
            "messages are a table, but a window on Spark needs a stream; for a table use tocsin.Window.push_batch"
        )
    if isinstance(partitions, bool) or not isinstance(partitions, int) or not 1 <= partitions <= MOST:
        raise InvalidInput(f"partitions is {partitions!r:.40}; it must be an integer from 1 to {MOST}")
    if placement not in PLACEMENTS:
        raise InvalidInput(f"placement is {placement!r:.40}; a window has {', '.join(PLACEMENTS)}")
    if "location" not in messages.columns or not {"words", "text"} & set(messages.columns):
        raise InvalidInput(
            f"messages need the columns location and words (or text); the columns are {messages.columns}"
        )
    provider = messages.sparkSession.conf.get(_PROVIDER, "")
    if _ROCKS not in (provider or ""):
        raise InvalidInput(
            f"{_PROVIDER} is {provider!r}; a window's state needs "
            f"org.apache.spark.sql.execution.streaming.state.{_ROCKS}"
        )


def _check_changes(messages: DataFrame, changes: DataFrame, order: Sequence[str], id_type: str) -> None:
    if not changes.isStreaming:
        raise InvalidInput("changes are a table, but a window on Spark needs a stream of them")
    missing = [name for name in ("id", "change", "location", *order) if name not in changes.columns]
    if missing or not {"words", "text"} & set(changes.columns):
        raise InvalidInput(
            f"changes need the columns id, change, location, words (or text) and those of order, "
            f"{', '.join(order)}; {(missing or ['words'])[0]} is missing of {changes.columns}"
        )
    if (kind := _type_of(changes, "id")) != id_type:
        raise InvalidInput(f"the ids of changes are {kind}, but those of subscriptions are {id_type}")
    for name in order:
        there, here = messages.schema[name].dataType, changes.schema[name].dataType
        if there != here:
            raise InvalidInput(
                f"order names {name!r}, which is {there.simpleString()} in messages but {here.simpleString()} in "
                f"changes; give both the same type"
            )


def _order(messages: DataFrame, order: str | Sequence[str], *, has_time: bool) -> list[str]:
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

    names = [order] if isinstance(order, str) else list(order)
    if not names and has_time:
        names = ["time"]
    if not names:
        raise InvalidInput("order names no column; give the columns that order the messages of a micro-batch")
    for name in [*names, *(["time"] if has_time else [])]:
        if name not in messages.columns:
            raise InvalidInput(f"messages have no column {name!r}; the columns are {messages.columns}")
    for name in names:
        if isinstance(kind := messages.schema[name].dataType, ArrayType | MapType | StructType | BinaryType):
            raise InvalidInput(f"order names {name!r}, which is {kind.simpleString()}; give numbers, strings or times")
    return names


def _type_of(frame: DataFrame, name: str) -> str:
    from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

    if name not in frame.columns:
        raise InvalidInput(f"subscriptions need the column {name}; the columns are {frame.columns}")
    kind: Any = frame.schema[name].dataType
    if not isinstance(kind, StringType | ByteType | ShortType | IntegerType | LongType):
        raise InvalidInput(f"the column {name} is {kind.simpleString()}; it must be of strings or integers")
    return "string" if isinstance(kind, StringType) else "int64"
