"""Options for Kafka topics, and the configuration of a client made from them.

Spark passes options to its workers as strings. Properties of librdkafka, the client's library, have a prefix there
(`kafka.security.protocol`), as in Spark's own connector.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tocsin.errors import InvalidInput, needing

if TYPE_CHECKING:
    from types import ModuleType

Made = TypeVar("Made")

PREFIX: Final = "kafka."
LOG: Final = logging.getLogger("tocsin.spark.kafka")
"""Clients log here: otherwise an unreachable broker would fill the terminal."""
LOG.addHandler(logging.NullHandler())

_OURS: Final = frozenset(
    {
        *("bootstrap.servers", "metadata.broker.list", "enable.partition.eof", "auto.offset.reset"),
        *("enable.auto.commit", "enable.auto.offset.store", "enable.idempotence", "transactional.id"),
    }
)
"""Properties that the guarantee against lost events depends on."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A topic and its broker, with the client's properties."""

    servers: str
    topic: str
    timeout_s: float
    client: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"the topic {self.topic!r} at {self.servers}"

    def config(self, **defaults: str | int | bool) -> dict[str, Any]:
        """A client's configuration: defaults (`_` stands for a dot), then the user's properties, then ours."""
        plain = {name.replace("_", "."): value for name, value in defaults.items()}
        return {**plain, **dict(self.client), "bootstrap.servers": self.servers}


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a topic: the options of `read_kafka`, as Spark passes them on."""

    servers: str
    topic: str
    starting: str = "earliest"
    gone: str = "fail"
    most_per_batch: int | None = None
    most_per_task: int = 100_000
    timeout_s: float = 30.0
    client: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _named(self.servers, self.topic)
        one_of("starting", self.starting, ("earliest", "latest"))
        one_of("gone", self.gone, ("fail", "skip"))
        for name, value in (("most_per_batch", self.most_per_batch), ("most_per_task", self.most_per_task)):
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is {value}; it must be at least 1")
        _positive(self.timeout_s)

    @property
    def broker(self) -> Broker:
        return Broker(self.servers, self.topic, self.timeout_s, self.client)

    def written(self) -> dict[str, str]:
        """The options for Spark, without those that are not set."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "client"}
        return {name: str(value) for name, value in own.items() if value is not None} | {
            PREFIX + name: value for name, value in self.client
        }

    @staticmethod
    def read(options: Mapping[str, str]) -> Reading:
        """Parse the options that Spark passes; raises `InvalidInput` for an unknown or malformed one."""
        kinds: dict[str, Callable[[str], Any]] = dict.fromkeys(("servers", "topic", "starting", "gone"), str)
        kinds |= {"most_per_batch": int, "most_per_task": int, "timeout_s": float}
        own: dict[str, Any] = {}
        client: dict[str, str] = {}
        for name, text in options.items():
            if name.startswith(PREFIX):
                client[name.removeprefix(PREFIX)] = text
            elif name in kinds:
                own[name] = _converted(name, text, kinds[name])
            else:
                known = ", ".join([*kinds, f"{PREFIX}<a property of librdkafka>"])
                raise InvalidInput(f"{name!r} is not an option of this source; the options are {known}")
        missing = [name for name in ("servers", "topic") if name not in own]
        if missing:
            raise InvalidInput(f"the option {missing[0]!r} is missing, which names {_MEANT[missing[0]]}")
        return Reading(**own, client=properties(client))


_MEANT: Final = {"servers": "brokers, like 'localhost:9092'", "topic": "the topic to read"}


def writing(servers: str, topic: str, timeout_s: float, options: Mapping[str, Any] | None) -> Broker:
    """The broker to write to; raises `InvalidInput` for invalid options."""
    _named(servers, topic)
    _positive(timeout_s)
    return Broker(servers, topic, timeout_s, properties(options))


def properties(options: Mapping[str, str | float | bool] | None) -> tuple[tuple[str, str], ...]:
    """Properties of librdkafka as strings; raises `InvalidInput` for those that tocsin sets, and for nested values."""
    found = {}
    for name, value in (options or {}).items():
        if name in _OURS:
            raise InvalidInput(f"options may not set {name!r}: tocsin sets it, so that no event is lost")
        if not isinstance(value, str | int | float):
            raise InvalidInput(f"the option {name!r} is {value!r:.80}; it must be a string, a number or a boolean")
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return tuple(sorted(found.items()))


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise `InvalidInput` unless a value is one of those allowed."""
    if value not in allowed:
        raise InvalidInput(f"{name} is {value!r}; it must be {' or '.join(map(repr, allowed))}")


def library() -> ModuleType:
    """The module confluent_kafka; raises `MissingExtra` if it is not installed."""
    with needing("kafka"):
        import confluent_kafka
        import confluent_kafka.admin
    module: ModuleType = confluent_kafka
    return module


def made(kind: Callable[..., Made], config: dict[str, Any]) -> Made:
    """A client; raises `InvalidInput` if librdkafka does not accept a property or its value."""
    try:
        return kind(config, logger=LOG)
    except library().KafkaException as error:
        raise InvalidInput(f"options for Kafka: {error.args[0].str()}") from None


def _named(servers: str, topic: str) -> None:
    for name, value in (("servers", servers), ("topic", topic)):
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"{name} is {value!r}; it must name {_MEANT[name]}")


def _positive(timeout_s: float) -> None:
    if not timeout_s > 0:
        raise InvalidInput(f"timeout_s is {timeout_s}; it must be more than 0 seconds")


def _converted(name: str, text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InvalidInput(f"{name} is {text!r}; it must be a number") from None
