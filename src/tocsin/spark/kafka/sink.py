"""Writing rows to a Kafka topic as JSON, at least once, with a header by which readers recognise repetitions.

The header names the query, the micro-batch and the row. It does not depend on how rows are spread over tasks. So a
reader can drop repeated messages. Only the reader can: Spark repeats a micro-batch that it did not finish.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tocsin.errors import InvalidInput, TocsinError
from tocsin.spark.kafka.settings import Broker, library, made, writing
from tocsin.spark.kafka.topics import refusal

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from pyspark.sql import Column, DataFrame

HEADER: Final = "tocsin-key"
_POLL_EVERY: Final = 1_000


def write_kafka(
    rows: DataFrame,
    *,
    servers: str,
    topic: str,
    key: str | None = None,
    identity: Sequence[str] | None = None,
    job: str | None = None,
    timeout_s: float = 120.0,
    options: Mapping[str, str | float | bool] | None = None,
) -> int:
    """Write rows to a Kafka topic, one message each: all columns as a JSON object.

    It is for `foreachBatch`: `stream.writeStream.foreachBatch(lambda rows, _: write_kafka(rows, servers=...,
    topic=...))`.

    Parameters
    ----------
    rows : pyspark.sql.DataFrame
        The rows.
    servers : str
        The brokers: "host:port", several with commas.
    topic : str
        The topic.
    key : str, optional
        The column with the message's key. Equal keys go to one partition, the same one as with Java clients.
    identity : sequence of str, optional
        Columns that identify a row. Default: the whole row.
    job : str, optional
        For a table outside of a stream, a name that stands for query and micro-batch; by default a new one each time.
        In a stream it follows them, and distinguishes several writes of one micro-batch.
    timeout_s : float
        How many seconds the broker may take to acknowledge all messages. After that an error ends the query.
    options : mapping of str to str, float or bool, optional
        Properties of librdkafka.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    InvalidInput
        For missing columns or unknown options.

    Notes
    -----
    Delivery is at least once. A repeated micro-batch is written again, with the same header `tocsin-key` for each row.
    The header has the query's id, the micro-batch, a hash of the row's identity, and its number among equal ones. To
    count equal rows, a shuffle brings them into one task; with `identity` no shuffle is needed. Runs one job, and
    returns when the broker has acknowledged all messages.
    """
    broker = writing(servers, topic, timeout_s, options)
    _check_properties(broker)
    sink = _Sink(broker, tuple(identity or ()), job, f"job {job or uuid.uuid4().hex}")
    messages = _messages(rows, key, identity)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays([pa.array([sink.send(batches)])], ["written"])

    counts = messages.mapInArrow(task, "written bigint").collect()
    return sum(row.written for row in counts)


def _messages(rows: DataFrame, key: str | None, identity: Sequence[str] | None) -> DataFrame:
    """The key of each row, its JSON, and its identity as JSON; without an identity, equal rows meet in one task."""
    from pyspark.sql import functions

    missing = [name for name in (*([key] if key is not None else []), *(identity or ())) if name not in rows.columns]
    if missing:
        raise InvalidInput(f"{missing[0]!r} is not a column of the written rows; the columns are {rows.columns}")
    if identity is not None and not identity:
        raise InvalidInput("identity names no column; name the columns that identify rows, or leave it out")

    def column(name: str) -> Column:
        return functions.col("`" + name.replace("`", "``") + "`")

    def document(names: Sequence[str]) -> Column:
        fields = functions.struct(*(column(name).alias(name) for name in names))
        return functions.to_json(fields, {"ignoreNullFields": "false"})

    chosen = rows.select(
        (functions.lit(None) if key is None else column(key)).cast("string").alias("key"),
        document(rows.columns).alias("value"),
        (functions.lit(None) if identity is None else document(identity)).cast("string").alias("identity"),
    )
    return chosen.repartition("key", "value") if identity is None else chosen


@dataclass(frozen=True, slots=True)
class _Sink:
    """Sends rows to a topic; sent to the tasks."""

    broker: Broker
    identity: tuple[str, ...]
    job: str | None
    table: str  # the name of a run outside of a stream

    def send(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Write all rows of a task and wait until they are acknowledged; returns their number."""
        producer, failures, count = _producer(self.broker), list[Any](), 0
        name, seen = self._name(), Counter[bytes]()

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(error)

        try:
            for batch in batches:
                for key, value, identity in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    headers = [(HEADER, f"{name}/{self._row(seen, key, value, identity)}")]
                    _produce(producer, self.broker, value, key, headers, delivered)
                    count += 1
                    if count % _POLL_EVERY == 0:
                        producer.poll(0)
                        self._check(failures)
            producer.flush()  # each message is acknowledged or fails within `message.timeout.ms`
            self._check(failures)
        except BaseException:
            _producer.cache_clear()
            producer.purge()
            raise
        return count

    def _name(self) -> str:
        """A name of this run that its repetition shares."""
        from pyspark import TaskContext

        task = TaskContext.get()
        batch = None if task is None else task.getLocalProperty("streaming.sql.batchId")
        if task is None or batch is None:
            return self.table
        query = task.getLocalProperty("sql.streaming.queryId")
        return f"{query}/{batch}" if self.job is None else f"{query}/{batch}/{self.job}"

    def _row(self, seen: Counter[bytes], key: str | None, value: str, identity: str | None) -> str:
        """A name of a row within its run, independent of its task."""
        text = f"{key!r} {value}" if identity is None else identity
        digest = hashlib.blake2b(text.encode(), digest_size=16)
        number = seen[digest.digest()]
        seen[digest.digest()] += 1
        if number and identity is not None:
            raise InvalidInput(f"identity names {list(self.identity)}, which two rows have in common: {identity:.200}")
        return f"{digest.hexdigest()}/{number}"

    def _check(self, failures: list[Any]) -> None:
        if failures:
            raise _undelivered(self.broker, failures[0], len(failures))


@lru_cache(maxsize=4)
def _check_properties(broker: Broker) -> None:
    """Let librdkafka reject unknown properties in the driver, before a job starts."""
    made(library().Producer, _config(broker))


@lru_cache(maxsize=4)
def _producer(broker: Broker) -> Producer:
    """A worker's producer, cached: a new one waits half a second for its id."""
    return made(library().Producer, _config(broker))


def _config(broker: Broker) -> dict[str, Any]:
    timeout_ms = max(1, round(broker.timeout_s * 1000))
    plain = {"message.timeout.ms": timeout_ms, "partitioner": "murmur2_random", "linger.ms": 5}
    return plain | broker.config() | {"enable.idempotence": True}


def _produce(
    producer: Producer, broker: Broker, value: str, key: str | None, headers: list[Any], delivered: Any
) -> None:
    """Enqueue a message, waiting while the queue is full."""
    while True:
        try:
            producer.produce(broker.topic, value, key, headers=headers, on_delivery=delivered)
        except BufferError:
            producer.poll(0.1)
        except library().KafkaException as error:
            raise _undelivered(broker, error.args[0], 1) from None
        else:
            return


def _undelivered(broker: Broker, error: Any, count: int) -> TocsinError:
    kafka = library()
    if error.code() in (kafka.KafkaError._MSG_TIMED_OUT, kafka.KafkaError._PURGE_QUEUE):
        return TocsinError(
            f"{broker} did not acknowledge {count} messages within {broker.timeout_s:g} s: {error.str()}. Does the "
            "topic exist, and does a broker answer?"
        )
    return refusal(broker, kafka.KafkaException(error))
