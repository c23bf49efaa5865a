"""What does Spark ask of a source, and what does a Kafka topic answer? A partitioned data source in Python.

The driver says up to which offset a micro-batch goes, which Spark writes into its checkpoint before any task reads: a
micro-batch that is repeated has the same events. Tasks read ranges of single partitions (`reading.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from tocsin.errors import InvalidInput, MissingExtra
from tocsin.spark.kafka.ranges import Offsets, Range, begun, checked, limited, read, split, written
from tocsin.spark.kafka.reading import read as read_range
from tocsin.spark.kafka.settings import Reading, library, made, properties
from tocsin.spark.kafka.topics import Topic
from tocsin.spark.workers import settle

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # before 4.2, where a source in Python knows no limits
    ReadLimit = ReadAllAvailable = ReadMaxRows = None
    SupportsTriggerAvailableNow = object

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME: Final = "tocsin-kafka"
COLUMNS: Final = "key string, value string, bad string, partition int, offset bigint, timestamp timestamp"


def read_kafka(
    session: SparkSession,
    *,
    servers: str,
    topic: str,
    starting: str = "earliest",
    gone: str = "fail",
    most_per_batch: int | None = None,
    most_per_task: int = 100_000,
    timeout_s: float = 30.0,
    options: Mapping[str, Any] | None = None,
    batch: bool = False,
) -> DataFrame:
    """The events of a Kafka topic: a stream, or with `batch=True` what there is now, as a table.

    Columns: `key`, `value`, `bad` (strings), `partition`, `offset`, `timestamp`. A value that is no UTF-8 is null, and
    `bad` has its bytes, a character each (Latin-1); a key's are written as `\\xff`. `match(events, index, json="value",
    corrupt="bad")` refuses such an event in words, and goes on.

    A new query begins at the topic's `starting` ("earliest" or "latest"), one that is started again where its
    checkpoint says; partitions that come later are read from their first event. `most_per_batch` events are in a
    micro-batch at most, `most_per_task` in one task. Where events were deleted before they were read, `gone="fail"`
    refuses to go on, `gone="skip"` does without them. A broker may be silent for `timeout_s`. `options` are properties
    of librdkafka (`{"security.protocol": "SSL"}`); of transactions, only what was committed is read, unless
    `isolation.level` says otherwise.

    Asks the broker once whether the topic is there. Raises `InvalidInput` for a topic that is not, for a broker that
    does not answer, and for options that nobody knows; `MissingExtra` without confluent-kafka, or with PySpark before
    4.2.
    """
    reading = Reading(
        servers, topic, starting, gone, most_per_batch, most_per_task, timeout_s, client=properties(options)
    )
    if batch and most_per_batch is not None:
        raise InvalidInput("most_per_batch is for streams; a table has all that there is")
    library()
    if ReadLimit is None:
        raise MissingExtra("reading Kafka needs PySpark 4.2 or newer: pip install 'tocsin[kafka]'")
    made(library().Consumer, reading.broker.config(group_id="tocsin")).close()  # which knows all properties
    Topic(reading.broker).partitions()
    session.dataSource.register(KafkaSource)
    return (session.read if batch else session.readStream).format(NAME).options(**reading.written()).load()


class KafkaSource(DataSource):  # type: ignore[misc]
    """`spark.readStream.format("tocsin-kafka")`, once it is registered."""

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return NAME

    def schema(self) -> str:
        """The columns."""
        return COLUMNS

    def reader(self, schema: Any) -> DataSourceReader:
        """What reads it as a table."""
        return TableReader(Reading.read(dict(self.options)))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """What reads it as a stream."""
        return StreamReader(Reading.read(dict(self.options)))


class Piece(InputPartition):  # type: ignore[misc]
    """A task's range."""

    def __init__(self, piece: Range) -> None:
        super().__init__(piece)


class TableReader(DataSourceReader):  # type: ignore[misc]
    """Reads what is there when the query is planned."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def partitions(self) -> list[Piece]:
        """The tasks. An empty range is one, too: Spark would make one of nothing."""
        low, high = Topic(self._reading.broker).bounds()
        start = low if self._reading.starting == "earliest" else high
        return [Piece(one) for one in split(start, high, self._reading.most_per_task) or [Range(0, 0, 0)]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run in a task."""
        return _read(self._reading, partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads micro-batches. What Spark asks comes one after the other, but for `read`, which tasks do with a copy."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._topic: Topic | None = None
        self._until: Offsets | None = None
        self._newest: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a query begins that has no checkpoint."""
        low, high = self._bounds()
        return written(self._reading.topic, low if self._reading.starting == "earliest" else high)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """How many events a micro-batch may have."""
        most = self._reading.most_per_batch
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note what is there now: this query reads no further."""
        self._until = self._bounds()[1]

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next micro-batch ends."""
        low, high = self._bounds()
        at = read(self._reading.topic, start)
        if self._reading.gone == "fail":
            checked(str(self._reading.broker), at, low, high)
        if self._until is not None:
            high = {
                partition: min(self._until[partition], end)
                for partition, end in high.items()
                if partition in self._until
            }
        first = {partition: max(offset, low[partition]) for partition, offset in begun(at, high).items()}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return written(self._reading.topic, limited(first, high, most))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """What the progress of a query calls the latest offset, from which its lag follows."""
        return None if self._newest is None else written(self._reading.topic, self._newest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Piece]:
        """The tasks of a micro-batch."""
        topic = self._reading.topic
        return [Piece(one) for one in split(read(topic, start), read(topic, end), self._reading.most_per_task)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run in a task."""
        return _read(self._reading, partition)

    def stop(self) -> None:
        """Let the connection go."""
        if self._topic is not None:
            self._topic.close()
        self._topic = None

    def _bounds(self) -> tuple[Offsets, Offsets]:
        if self._topic is None:
            self._topic = Topic(self._reading.broker)
        low, self._newest = self._topic.bounds()
        return low, self._newest

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_topic": None}


def _read(reading: Reading, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """What a task reads, of a table or a stream."""
    yield from read_range(reading.broker, partition.value, skips=reading.gone == "skip")
    settle()
