"""The kind `mqtt`: its options and its channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tocsin.errors import needing
from tocsin.service.deliver.hosts import MEMBERS, Host, checked_host, checked_tls
from tocsin.service.deliver.mqtt.channel import NONE, TLS, Topic
from tocsin.service.deliver.protocols import Channel, Schema, Sending, Surroundings
from tocsin.service.names import flag, line
from tocsin.service.problems import invalid

_MOST_TOPIC, _MOST_NAME = 1024, 256
_TEXT: Final = {"type": "string", "minLength": 1}


class Mqtt(Sending):
    """Destinations that are topics of a broker."""

    name: ClassVar[str] = "mqtt"
    about: ClassVar[str] = "the service publishes under a topic of a broker of MQTT 5"
    members: ClassVar[Mapping[str, Schema]] = {
        **MEMBERS,
        "tls": {"enum": [TLS, NONE], "description": "tls (default), or none, which needs allow_private"},
        "user": {**_TEXT, "maxLength": _MOST_NAME, "description": "The name by which the service logs in"},
        "password": {**_TEXT, "maxLength": 1024, "writeOnly": True, "description": "It is not shown again"},
        "topic": {**_TEXT, "maxLength": _MOST_TOPIC, "description": "Where messages are published, without wildcards"},
        "retain": {"type": "boolean", "description": "Whether the broker keeps the last message for new clients"},
        "client_id": {**_TEXT, "maxLength": _MOST_NAME, "description": "By default the broker gives one"},
    }
    required: ClassVar[tuple[str, ...]] = ("host", "topic")
    secret: ClassVar[str | None] = "password"
    parts: ClassVar[tuple[str, ...]] = ("topic", "body")

    def require_libraries(self) -> None:
        with needing("mqtt"):
            import paho.mqtt.client  # noqa: F401

    def checked(self, record: Mapping[str, Any], *, allow_private: bool) -> dict[str, Any]:
        tls = checked_tls(record, TLS, NONE, allow_private=allow_private)
        host = checked_host(record, 8883 if tls == TLS else 1883, allow_private=allow_private)
        topic = _topic(record.get("topic"))
        options: dict[str, Any] = {**host._asdict(), "tls": tls, "topic": topic}
        if flag(record, "retain"):
            options["retain"] = True
        for name in ("user", "client_id"):
            if name in record:
                options[name] = line(record[name], name, _MOST_NAME)
        if tls == NONE and "user" in options:
            raise invalid("user needs tls, so that nobody reads the password on its way", field="user")
        return options

    def checked_parts(self, parts: Mapping[str, Any]) -> Mapping[str, Any]:
        """A topic has the rules of the topic of a destination."""
        return {**parts, "topic": _topic(parts["topic"].strip())} if "topic" in parts else parts

    def secret_goes_to(self, options: Mapping[str, Any]) -> object:
        return options["host"], options["port"], options["tls"], options.get("user")

    def channel(self, options: Mapping[str, Any], around: Surroundings) -> Channel:
        return Topic(Host(options["host"], options["port"]), options, around)

    def status_text(self, status: int | None) -> str:
        return "" if status is None else f" with reason {status:#04x} of MQTT"


def _topic(value: object) -> str:
    topic = line(value, "topic", _MOST_TOPIC)
    if "+" in topic or "#" in topic or topic.startswith("$"):
        raise invalid("topic has a wildcard (+ or #), or begins with $; messages have plain topics", field="topic")
    return topic
