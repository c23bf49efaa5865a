"""What does the driver know of a topic? Its partitions, the first offset of each and the one after the last.

Asked for each micro-batch, so that a partition that comes later is found. Nothing of it is kept at the broker: no
consumer group commits, for the offsets are in Spark's checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tocsin.errors import InvalidInput, TocsinError
from tocsin.spark.kafka.ranges import Offsets
from tocsin.spark.kafka.settings import Broker, library, made

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient


class Topic:
    """A topic, over one connection that is kept."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._admin: AdminClient | None = made(library().admin.AdminClient, broker.config())

    def partitions(self) -> list[int]:
        """The partitions there are; raises `InvalidInput` where there is no such topic or no broker answers."""
        kafka = library()
        asked = kafka.TopicCollection([self._broker.topic])
        try:
            described = self._open.describe_topics(asked, request_timeout=self._broker.timeout_s)
            return sorted(one.id for one in described[self._broker.topic].result().partitions)
        except kafka.KafkaException as error:
            raise refusal(self._broker, error) from None

    def bounds(self) -> tuple[Offsets, Offsets]:
        """Of each partition the offset of its first event, and the one after its last that may be read."""
        partitions = self.partitions()
        return self._offsets(partitions, "earliest"), self._offsets(partitions, "latest")

    def close(self) -> None:
        """Let the connection go."""
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
    """What a broker, or the lack of one, comes to: one line."""
    codes, what = library().KafkaError, error.args[0]
    if what.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC, codes._UNKNOWN_PARTITION):
        return InvalidInput(f"there is no topic {broker.topic!r} at {broker.servers}; make it, or name another")
    if what.code() in (codes._TIMED_OUT, codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._RESOLVE):
        return InvalidInput(
            f"no broker answers at {broker.servers} within {broker.timeout_s:g} s (topic {broker.topic!r}): "
            f"{what.str()}"
        )
    return TocsinError(f"{broker}: {what.str()}")
