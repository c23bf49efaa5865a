"""Clusters of Kafka: an idempotent producer, and a thread that hears what became of its records."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tocsin.errors import needing
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.hosts import Host
from tocsin.service.deliver.protocols import DELIVERY, Message, Surroundings
from tocsin.service.deliver.resolver import Unreachable
from tocsin.service.deliver.verdict import DELIVERED, FAILED, REFUSED, Verdict, shown

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

TLS, NONE, PLAIN = "tls", "none", "PLAIN"
"""How a connection is encrypted, and how the service logs in."""
TIMEOUT_S: Final = 20.0
_TRIES_MS: Final = 15_000
"""How long the producer itself tries to write a record."""
_MOST_BYTES: Final = 64 << 20
"""The producer sends larger records than the broker takes, which says so."""
_POLL_S: Final = 0.1
_NEW_TOPIC_MS: Final = 3000
"""How long a topic may be unknown, before records for it fail."""
_BROKER: Final = re.compile(r"\[?(.+?)\]?:(\d+)")
_QUIET: Final = logging.getLogger("tocsin.service.kafka")
_QUIET.setLevel(logging.CRITICAL)  # what fails is in the log of attempts


class Records:
    """The channel of a destination of kind `kafka`."""

    def __init__(self, options: Mapping[str, Any], around: Surroundings) -> None:
        self._options, self._around = options, around
        self._producer: _Producer | None = None

    async def send(self, message: Message, secrets: Sequence[Secret]) -> Verdict:
        """Produce a record, and wait until all replicas have it; raises `Unreachable`."""
        with needing("kafka-client"):
            import confluent_kafka
        if self._producer is None:
            await self._check()
        if self._producer is None:  # nobody made one meanwhile
            self._producer = _Producer(_settings(self._options, secrets))
        producer = self._producer
        headers = [("key", message.key.encode()), ("type", message.type.encode())]
        headers += [(name, value.encode()) for name, value in message.parts.get("headers", {}).items()]
        try:
            async with asyncio.timeout(TIMEOUT_S):
                error = await producer.produced(self._options["topic"], message.content, self._key(message), headers)
        except TimeoutError:
            error = None
            reason = f"there was no answer within {TIMEOUT_S:g} s"
        except (confluent_kafka.KafkaException, BufferError) as raised:
            error = raised.args[0] if isinstance(raised, confluent_kafka.KafkaException) else None
            reason = str(raised)
        else:
            if error is None:
                return Verdict(DELIVERED)
            reason = producer.reason(error)
        if error is None or error.code() < 0:  # of the client: it does not reach the cluster
            if error is None or error.code() != confluent_kafka.KafkaError._INVALID_ARG:
                await self.close()  # another producer does not wait as this one does after failures
            raise Unreachable(reason)
        return _verdict(error)

    async def _check(self) -> None:
        """Refuse brokers at addresses that no destination may reach. The client resolves their names again."""
        for broker in self._options["brokers"]:
            parts = _BROKER.fullmatch(broker)
            assert parts is not None
            place = Host(parts[1], int(parts[2]))
            await self._around.resolver.permitted(place, allow_private=self._around.allow_private)

    def _key(self, message: Message) -> bytes:
        """The key of a record, by which Kafka finds its partition."""
        if key := message.parts.get("key"):
            return str(key).encode()
        name = self._options.get("key")
        if name is None or message.type != DELIVERY:
            return message.destination.encode()
        value = message.deliveries()[0]["event"]
        for part in (name,) if name in value else name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return (value if isinstance(value, str) else json.dumps(value)).encode()

    async def close(self) -> None:
        """End the producer; what it has not written fails."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close()


class _Producer:
    """A producer, whose thread tells the event loop what became of each record."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from confluent_kafka import Producer

        self._loop = asyncio.get_running_loop()
        self._last_error = ""
        self._pending: set[asyncio.Future[KafkaError | None]] = set()
        self._is_closed = threading.Event()
        self._producer = Producer({**settings, "error_cb": self._failed}, logger=_QUIET)
        threading.Thread(target=self._hear, name="tocsin-kafka", daemon=True).start()

    def _hear(self) -> None:
        """Call back for each record, until it is closed."""
        while not self._is_closed.is_set():
            self._producer.poll(_POLL_S)
        self._producer.purge()
        self._producer.poll(_POLL_S)

    def _failed(self, error: KafkaError) -> None:
        """The client noticed something. If no broker is left, records need not wait."""
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._producer.purge()
        else:
            self._last_error = error.str()

    def reason(self, error: KafkaError) -> str:
        """Why a record was not written: of the client, what it noticed last."""
        return self._last_error if error.code() < 0 and self._last_error else error.str()

    async def produced(self, topic: str, body: bytes, key: bytes, headers: list[Any]) -> KafkaError | None:
        """Write a record; returns why it could not be written. Raises `KafkaException` and `BufferError`."""
        answer: asyncio.Future[KafkaError | None] = self._loop.create_future()

        def tell(error: KafkaError | None, record: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_answer, answer, error)

        self._producer.produce(topic, body, key, headers=headers, on_delivery=tell)
        return await answer

    def close(self) -> None:
        """End the thread. Nobody waits for it."""
        self._is_closed.set()


def _answer(waiting: asyncio.Future[KafkaError | None], error: KafkaError | None) -> None:
    if not waiting.done():
        waiting.set_result(error)


def _settings(options: Mapping[str, Any], secrets: Sequence[Secret]) -> dict[str, Any]:
    """The configuration of librdkafka."""
    settings: dict[str, Any] = {
        "bootstrap.servers": ",".join(options["brokers"]),
        "enable.idempotence": True,
        "message.timeout.ms": _TRIES_MS,
        "message.max.bytes": _MOST_BYTES,
        "linger.ms": 0,
        "topic.metadata.propagation.max.ms": _NEW_TOPIC_MS,
        "security.protocol": "PLAINTEXT",
        "allow.auto.create.topics": False,
    }
    if options["tls"] == TLS:
        import certifi

        settings |= {
            "security.protocol": "SSL",
            "ssl.ca.location": os.environ.get("SSL_CERT_FILE") or certifi.where(),
            "ssl.endpoint.identification.algorithm": "https",
        }
    if "user" in options:
        settings |= {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": options.get("mechanism", PLAIN),
            "sasl.username": options["user"],
            "sasl.password": secrets[0].text if secrets else "",
        }
    return settings


def _verdict(error: KafkaError) -> Verdict:
    """What an error of the cluster means. Only those about the record refuse it."""
    from confluent_kafka import KafkaError

    of_record = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG, KafkaError.INVALID_RECORD)
    is_refusal = error.code() in of_record
    reason = shown(f"Kafka: {error.str()}")
    return Verdict(REFUSED if is_refusal else FAILED, reason, error.code(), is_refusal=is_refusal)
