"""Reading a range of a partition in a task: a consumer of its own reads up to an offset, into Arrow batches.

The consumer stops by position, not by count: offsets of compacted events and of transactions bring no event. The end of
the partition arrives as an event (`enable.partition.eof`) with its offset.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.errors import TocsinError
from tocsin.spark.kafka.ranges import Range
from tocsin.spark.kafka.settings import Broker, library, made
from tocsin.spark.kafka.topics import refusal

SCHEMA: Final = pa.schema(
    [
        ("key", pa.string()),
        ("value", pa.string()),
        ("bad", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
_AT_ONCE: Final = 2_000
"""Events in a batch; librdkafka holds at most `queued.max.messages.kbytes` of them."""
_WAIT_S: Final = 0.1


class Consumer(Protocol):
    """The methods that a consumer needs."""

    def consume(self, num_messages: int, timeout: float) -> list[Any]: ...


def read(broker: Broker, piece: Range, *, skips: bool) -> Iterator[pa.RecordBatch]:
    """The events of a range. If the first were deleted, `skips` continues after them; otherwise it is an error."""
    kafka = library()
    config = broker.config(group_id="tocsin", queued_max_messages_kbytes=16_384) | {
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest" if skips else "error",
    }
    consumer = made(kafka.Consumer, config)
    try:
        consumer.assign([kafka.TopicPartition(broker.topic, piece.partition, piece.first)])
        for messages in up_to(consumer, broker, piece):
            yield table(messages, piece.partition)
    finally:
        consumer.close()


def up_to(consumer: Consumer, broker: Broker, piece: Range) -> Iterator[list[Any]]:
    """Lists of messages up to the end of the range; raises `TocsinError` if none arrives for too long."""
    position, heard, complaint = piece.first, time.monotonic(), "no answer"
    while position < piece.end:
        came = consumer.consume(num_messages=min(_AT_ONCE, piece.end - position), timeout=_WAIT_S)
        taken = []
        for message in came:
            error = message.error()
            if error is not None and not _is_end(error):
                complaint = _complaint(broker, piece, error)
                continue
            if error is None and message.offset() < piece.end:
                taken.append(message)
            position = max(position, message.offset() + (error is None))
        if taken:
            yield taken
        if came:
            heard = time.monotonic()
        elif time.monotonic() - heard > broker.timeout_s:
            raise TocsinError(
                f"partition {piece.partition} of {broker} was read up to offset {position} of {piece.end}, then "
                f"nothing came for {broker.timeout_s:g} s: {complaint}"
            )


def table(messages: list[Any], partition: int) -> pa.RecordBatch:
    """Messages as rows of SCHEMA. A value that is not UTF-8 is null; `bad` has its bytes, one per character."""
    values, bad = _texts([message.value() for message in messages])
    keys = [message.key() for message in messages]
    columns = [
        pa.array([None if key is None else key.decode("utf-8", "backslashreplace") for key in keys], pa.string()),
        values,
        bad,
        pa.repeat(pa.scalar(partition, pa.int32()), len(messages)),
        pa.array([message.offset() for message in messages], pa.int64()),
        pa.array([_micros(message) for message in messages], SCHEMA.field("timestamp").type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _texts(values: list[bytes | None]) -> tuple[pa.Array, pa.Array]:
    raw = pa.array(values, pa.binary())
    try:
        return pc.cast(raw, pa.string()), pa.nulls(len(values), pa.string())
    except pa.ArrowInvalid:
        texts = [_text(value) for value in values]
        bad = [
            None if value is None or text is not None else value.decode("latin-1")
            for value, text in zip(values, texts, strict=True)
        ]
        return pa.array(texts, pa.string()), pa.array(bad, pa.string())


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _micros(message: Any) -> int | None:
    kind, millis = message.timestamp()
    return None if kind == library().TIMESTAMP_NOT_AVAILABLE else millis * 1000


def _is_end(error: Any) -> bool:
    return bool(error.code() == library().KafkaError._PARTITION_EOF)


def _complaint(broker: Broker, piece: Range, error: Any) -> str:
    """The text of a transient error; raises any other."""
    codes = library().KafkaError
    if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
        raise TocsinError(
            f"events from offset {piece.first} on of partition {piece.partition} of {broker} were deleted while they "
            "were to be read (its retention is too short). gone='skip' continues with the remaining events."
        )
    passing = (codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._TIMED_OUT, codes._RESOLVE)
    if error.fatal() or not (error.retriable() or error.code() in passing):
        raise refusal(broker, library().KafkaException(error))
    return str(error.str())
