"""The kind `kafka`: its options and its channel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tocsin.errors import needing
from tocsin.service.deliver.hosts import Host, checked_host, checked_tls
from tocsin.service.deliver.kafka.channel import NONE, PLAIN, TLS, Records
from tocsin.service.deliver.protocols import Channel, Schema, Sending, Surroundings
from tocsin.service.names import line
from tocsin.service.problems import Problem, invalid

_PORT: Final = 9092
_MOST_BROKERS, _MOST_NAME, _MOST_TOPIC = 10, 256, 249
_BROKER: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@/]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_TOPIC: Final = "[A-Za-z0-9._-]+"
_MECHANISMS: Final = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512")
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": _MOST_NAME}


class Kafka(Sending):
    """Destinations that are topics of a cluster."""

    name: ClassVar[str] = "kafka"
    about: ClassVar[str] = "the service produces records of a topic of Kafka"
    members: ClassVar[Mapping[str, Schema]] = {
        "brokers": {
            "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": _MOST_BROKERS,
            "description": "Some brokers of the cluster, each host:port",
        },
        "topic": {"type": "string", "pattern": f"^{_TOPIC}$", "maxLength": _MOST_TOPIC, "description": "The topic"},
        "key": {**_TEXT, "description": "The attribute whose value is the key of a record"},
        "tls": {"enum": [TLS, NONE], "description": "How the connection is encrypted: tls (default), or none"},
        "mechanism": {"enum": list(_MECHANISMS), "description": f"Of SASL (by default {PLAIN})"},
        "user": {**_TEXT, "description": "The name by which the service logs in"},
        "password": {**_TEXT, "maxLength": 1024, "writeOnly": True, "description": "It is not shown again"},
    }  # fmt: skip
    required: ClassVar[tuple[str, ...]] = ("brokers", "topic")
    secret: ClassVar[str | None] = "password"
    parts: ClassVar[tuple[str, ...]] = ("key", "headers", "body")
    header_pattern: ClassVar[str] = r"(?!(?:key|type)$)[A-Za-z0-9._-]{1,64}"

    def require_libraries(self) -> None:
        with needing("kafka-client"):
            import confluent_kafka  # noqa: F401

    def checked(self, record: Mapping[str, Any], *, allow_private: bool) -> dict[str, Any]:
        if not allow_private:
            detail = "allow_private is needed: a client of Kafka connects to the addresses that brokers name"
            raise invalid(f"{detail}, so nobody can check them before", field="allow_private")
        options: dict[str, Any] = {"brokers": _brokers(record.get("brokers")), "topic": _topic(record.get("topic"))}
        options["tls"] = checked_tls(record, TLS, NONE, allow_private=allow_private)
        for name in ("key", "user"):
            if name in record:
                options[name] = line(record[name], name, _MOST_NAME)
        if "user" in options and options["tls"] == NONE:
            raise invalid("user needs tls, so that nobody reads the password on its way", field="user")
        mechanism = record.get("mechanism", PLAIN)
        if mechanism not in _MECHANISMS:
            known = " or ".join(_MECHANISMS)
            raise invalid(f"mechanism is {str(mechanism)!r:.40}; it is {known}", field="mechanism")
        if "mechanism" in record:
            options["mechanism"] = mechanism
        return options

    def secret_goes_to(self, options: Mapping[str, Any]) -> object:
        return options["brokers"], options["tls"], options.get("mechanism"), options.get("user")

    def channel(self, options: Mapping[str, Any], around: Surroundings) -> Channel:
        return Records(options, around)

    def status_text(self, status: int | None) -> str:
        return "" if status is None else f" with error {status} of Kafka"


def _brokers(value: object) -> list[str]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_BROKERS:
        raise invalid(f"brokers is a list of 1 to {_MOST_BROKERS} texts such as broker.example:9092", field="brokers")
    return [str(_broker(one)) for one in value]


def _broker(value: object) -> Host:
    parts = _BROKER.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise invalid(f"brokers has {str(value)!r:.80}; a broker is like broker.example:9092", field="brokers")
    try:
        record = {"host": parts["host"], "port": int(parts["port"] or _PORT)}
        return checked_host(record, _PORT, allow_private=True)
    except Problem as problem:
        raise invalid(f"brokers has {value!r:.80}: {problem.detail}", field="brokers") from None


def _topic(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TOPIC or not re.fullmatch(_TOPIC, value):
        detail = f"topic is a name of 1 to {_MOST_TOPIC} letters, digits, points, dashes and underscores of ASCII"
        raise invalid(detail, field="topic")
    return value
