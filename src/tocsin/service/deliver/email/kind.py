"""The kind `email`: its options and its channel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tocsin.errors import needing
from tocsin.service.deliver.email.channel import NONE, STARTTLS, TLS, Mails
from tocsin.service.deliver.hosts import MEMBERS, Host, checked_host, checked_tls
from tocsin.service.deliver.protocols import Channel, Schema, Sending, Surroundings
from tocsin.service.names import line
from tocsin.service.problems import invalid

_PORTS: Final = {STARTTLS: (587, 25, 465), TLS: (465, 587, 25), NONE: (25, 465, 587)}
"""The usual ports, with the default first."""
_MOST_RECIPIENTS: Final = 50
_MOST_ADDRESS, _MOST_LINE, _MOST_USER = 254, 200, 256
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")
ADDRESS_PATTERN: Final = f"^{_ADDRESS.pattern}$"
_TEXT: Final = {"type": "string"}
_MAIL_ADDRESS: Final = {"type": "string", "pattern": ADDRESS_PATTERN, "maxLength": _MOST_ADDRESS}


class Email(Sending):
    """Destinations that get mail."""

    name: ClassVar[str] = "email"
    about: ClassVar[str] = "the service sends mail by a server of SMTP"
    members: ClassVar[Mapping[str, Schema]] = {
        **MEMBERS,
        "tls": {
            "enum": [STARTTLS, TLS, NONE],
            "description": "How the connection is encrypted (by default starttls); none needs allow_private",
        },
        "user": {**_TEXT, "minLength": 1, "maxLength": _MOST_USER, "description": "The name at the mail server"},
        "password": {
            **_TEXT, "minLength": 1, "maxLength": 1024, "writeOnly": True, "description": "It is not shown again"
        },
        "from": {**_MAIL_ADDRESS, "description": "The address of the sender"},
        "to": {
            "type": "array", "items": _MAIL_ADDRESS, "minItems": 1, "maxItems": _MOST_RECIPIENTS,
            "description": "The addresses of the receivers",
        },
        "subject": {
            **_TEXT, "minLength": 1, "maxLength": _MOST_LINE,
            "description": "The subject begins with this (by default tocsin)",
        },
    }  # fmt: skip
    required: ClassVar[tuple[str, ...]] = ("host", "from", "to")
    secret: ClassVar[str | None] = "password"
    parts: ClassVar[tuple[str, ...]] = ("subject", "body")

    def require_libraries(self) -> None:
        with needing("email"):
            import aiosmtplib  # noqa: F401

    def checked(self, record: Mapping[str, Any], *, allow_private: bool) -> dict[str, Any]:
        tls = checked_tls(record, STARTTLS, TLS, NONE, allow_private=allow_private)
        host = checked_host(record, *_PORTS[tls], allow_private=allow_private)
        options: dict[str, Any] = {**host._asdict(), "tls": tls}
        if "user" in record:
            if tls == NONE:
                raise invalid("user needs tls, so that nobody reads the password on its way", field="user")
            options["user"] = line(record["user"], "user", _MOST_USER)
        options |= {"from": _address(record.get("from"), "from"), "to": _addresses(record.get("to"))}
        if "subject" in record:
            options["subject"] = line(record["subject"], "subject", _MOST_LINE)
        return options

    def secret_goes_to(self, options: Mapping[str, Any]) -> object:
        return options["host"], options["port"], options["tls"], options.get("user")

    def checked_parts(self, parts: Mapping[str, Any]) -> Mapping[str, Any]:
        """A subject is a line: spaces and line breaks in it are one space."""
        if "subject" not in parts:
            return parts
        return {**parts, "subject": line(" ".join(parts["subject"].split()), "subject", _MOST_LINE)}

    def channel(self, options: Mapping[str, Any], around: Surroundings) -> Channel:
        return Mails(Host(options["host"], options["port"]), options, around)

    def status_text(self, status: int | None) -> str:
        return "" if status is None else f" with SMTP {status}"


def _address(value: object, field: str) -> str:
    if not isinstance(value, str) or len(value) > _MOST_ADDRESS or not _ADDRESS.fullmatch(value):
        raise invalid(f"{field} has {str(value)[:80]!r}; an address is like alerts@example.org", field=field)
    return value


def _addresses(value: object) -> list[str]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_RECIPIENTS:
        raise invalid(f"to is a list of 1 to {_MOST_RECIPIENTS} addresses", field="to")
    return list(dict.fromkeys(_address(one, "to") for one in value))
