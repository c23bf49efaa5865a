"""A topic as the driver sees it: its partitions, and for each the first offset and the one after the last.

The broker is asked for each micro-batch, so new partitions are found. Nothing is stored at the broker: no consumer
group commits, because the offsets are in Spark's checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tocsin.errors import InvalidInput, TocsinError
from tocsin.spark.kafka.ranges import Offsets
from tocsin.spark.kafka.settings import Broker, library, made

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient


class Topic:
    """A topic, over one persistent connection."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._admin: AdminClient | None = made(library().admin.AdminClient, broker.config())

    def partitions(self) -> list[int]:
        """The existing partitions; raises `InvalidInput` if the topic is missing or no broker answers."""
        kafka = library()
        asked = kafka.TopicCollection([self._broker.topic])
        try:
            described = self._open.describe_topics(asked, request_timeout=self._broker.timeout_s)
            return sorted(one.id for one in described[self._broker.topic].result().partitions)
        except kafka.KafkaException as error:
            raise refusal(self._broker, error) from None

    def bounds(self) -> tuple[Offsets, Offsets]:
        """For each partition the offset of its first event, and the one after its last readable event."""
        partitions = self.partitions()
        return self._offsets(partitions, "earliest"), self._offsets(partitions, "latest")

    def close(self) -> None:
        """Close the connection."""
        self._admin = None

    @property
    def _open(self) -> AdminClient:
        if self._admin is None:
            raise TocsinError(f"{self._broker} was closed; open it again")
        return self._admin

    def _offsets(self, partitions: list[int], which: str) -> Offsets:
        kafka = library()
        spec = getattr(kafka.admin.OffsetSpec, which)()
        asked = {kafka.TopicPartition(self._broker.topic, partition): spec for partition in partitions}
        level = dict(self._broker.client).get("isolation.level", "read_committed").upper()
        try:
            found = self._open.list_offsets(
                asked, isolation_level=kafka.IsolationLevel[level], request_timeout=self._broker.timeout_s
            )
            return {one.partition: future.result().offset for one, future in found.items()}
        except kafka.KafkaException as error:
            raise refusal(self._broker, error) from None


def refusal(broker: Broker, error: Any) -> TocsinError:
    """The error for a broker's refusal or silence, in one line."""
    codes, what = library().KafkaError, error.args[0]
    if what.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC, codes._UNKNOWN_PARTITION):
        return InvalidInput(f"there is no topic {broker.topic!r} at {broker.servers}; create it, or name another")
    if what.code() in (codes._TIMED_OUT, codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._RESOLVE):
        return InvalidInput(
            f"no broker answers at {broker.servers} within {broker.timeout_s:g} s (topic {broker.topic!r}): "
            f"{what.str()}"
        )
    return TocsinError(f"{broker}: {what.str()}")
