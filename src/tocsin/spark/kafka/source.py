"""A Kafka topic as a partitioned data source for Spark, in Python.

The driver decides where a micro-batch ends, and Spark writes that into its checkpoint before any task reads. So a
repeated micro-batch has the same events. Tasks read ranges of single partitions (`reading.py`).
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
except ImportError:  # before 4.2, where Python sources have no read limits
    ReadLimit = ReadAllAvailable = ReadMaxRows = None  # type: ignore[assignment, misc]
    SupportsTriggerAvailableNow = object  # type: ignore[assignment, misc]

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
    options: Mapping[str, str | float | bool] | None = None,
    batch: bool = False,
) -> DataFrame:
    r"""The events of a Kafka topic, as a stream or as a table.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session.
    servers : str
        The brokers: "host:port", several with commas.
    topic : str
        The topic.
    starting : str
        Where a new query begins: "earliest" or "latest". A restarted one continues at its checkpoint.
    gone : str
        What happens if events were deleted before they were read: "fail" raises an error, "skip" continues without
        them.
    most_per_batch : int, optional
        The most events in a micro-batch. Default: all that there are.
    most_per_task : int
        The most events that a task reads.
    timeout_s : float
        How many seconds a broker may be silent.
    options : mapping of str to str, float or bool, optional
        Properties of librdkafka: `{"security.protocol": "SSL"}`.
    batch : bool
        Whether to return the current events as a table.

    Returns
    -------
    pyspark.sql.DataFrame
        Columns `key`, `value`, `bad` (strings), `partition`, `offset` and `timestamp`. A value that is not UTF-8 is
        null, and `bad` has its bytes, one per character (Latin-1). Such bytes in a key are written as `\xff`.

    Raises
    ------
    InvalidInput
        For a missing topic, a broker that does not answer, or unknown options.
    MissingExtra
        Without confluent-kafka, or with PySpark before 4.2.

    Notes
    -----
    `match(events, index, json="value", corrupt="bad")` rejects an event that is not UTF-8 with a reason, and goes on.
    Partitions added later are read from their first event. Of transactions only committed events are read, unless
    `isolation.level` says otherwise. Asks the broker once whether the topic exists.
    """
    reading = Reading(
        servers, topic, starting, gone, most_per_batch, most_per_task, timeout_s, client=properties(options)
    )
    if batch and most_per_batch is not None:
        raise InvalidInput("most_per_batch is for streams only; a table has all events")
    library()
    if ReadLimit is None:
        raise MissingExtra("reading Kafka needs PySpark 4.2 or newer: pip install 'tocsin[kafka]'")
    made(library().Consumer, reading.broker.config(group_id="tocsin")).close()  # librdkafka checks all properties
    Topic(reading.broker).partitions()
    session.dataSource.register(KafkaSource)
    return (session.read if batch else session.readStream).format(NAME).options(**reading.written()).load()


class KafkaSource(DataSource):
    """`spark.readStream.format("tocsin-kafka")`, once it is registered."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return NAME

    def schema(self) -> str:
        """The columns."""
        return COLUMNS

    def reader(self, schema: Any) -> DataSourceReader:
        """The reader of a table."""
        return TableReader(Reading.read(dict(self.options)))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """The reader of a stream."""
        return StreamReader(Reading.read(dict(self.options)))


class Piece(InputPartition):
    """The range of a task."""

    def __init__(self, piece: Range) -> None:
        super().__init__(piece)


class TableReader(DataSourceReader):
    """Reads the events that exist when the query is planned."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def partitions(self) -> list[Piece]:
        """The tasks; one with an empty range if there are no events, because Spark needs one."""
        low, high = Topic(self._reading.broker).bounds()
        start = low if self._reading.starting == "earliest" else high
        return [Piece(one) for one in split(start, high, self._reading.most_per_task) or [Range(0, 0, 0)]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return _read(self._reading, partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads micro-batches. Spark calls the methods one at a time, except `read`, which runs in tasks on a copy."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._topic: Topic | None = None
        self._until: Offsets | None = None
        self._newest: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The start of a query without a checkpoint."""
        low, high = self._bounds()
        return written(self._reading.topic, low if self._reading.starting == "earliest" else high)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit of events in a micro-batch."""
        most = self._reading.most_per_batch
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Record the current end: this query reads no further."""
        self._until = self._bounds()[1]

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch."""
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
        """The latest offset for the query's progress, from which Spark computes its lag."""
        return None if self._newest is None else written(self._reading.topic, self._newest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Piece]:
        """The tasks of a micro-batch."""
        topic = self._reading.topic
        return [Piece(one) for one in split(read(topic, start), read(topic, end), self._reading.most_per_task)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        return _read(self._reading, partition)

    def stop(self) -> None:
        """Close the connection."""
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
    """Reads in a task, for a table or a stream."""
    yield from read_range(reading.broker, partition.value, skips=reading.gone == "skip")
    settle()
