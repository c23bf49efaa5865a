"""Hosts: one strict syntax of names and addresses, for every kind that connects to one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tocsin.service.deliver.addresses import refusal
from tocsin.service.names import whole
from tocsin.service.problems import Problem, invalid

_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_MOST_PORT: Final = 65_535
_LEAST_OTHER_PORT: Final = 1024
MOST_NAME: Final = 253
MEMBERS: Final[Mapping[str, Any]] = {
    "host": {
        "type": "string",
        "minLength": 1,
        "maxLength": MOST_NAME,
        "description": "The name or the address of the server",
    },
    "port": {"type": "integer", "minimum": 1, "maximum": _MOST_PORT},
}
"""Members of the documents of kinds that have a server."""


class Host(NamedTuple):
    """A name in small letters, or an address without brackets, and a port."""

    host: str
    port: int

    @property
    def is_address(self) -> bool:
        """Whether the host is an address."""
        return is_address(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_address(host: str) -> bool:
    """Whether a host of the strict syntax is an address."""
    return ":" in host or host.replace(".", "").isdecimal()


def _wrong(field: str, text: str, reason: str) -> Problem:
    return invalid(f"{field} has the host {text!r:.80}{reason}", field=field)


def parsed_host(text: str, field: str) -> str:
    """A host in small letters, addresses without brackets; raises a `Problem` that names the field."""
    text = text.lower()
    if text.startswith("["):
        try:
            return str(ipaddress.IPv6Address(text[1:-1]))
        except ValueError:
            raise _wrong(field, text, ", which is not an IPv6 address") from None
    labels = text.split(".")
    if _NUMERIC.fullmatch(labels[-1]):  # what ends in a number is an IPv4 address, in one of many spellings
        try:
            return str(ipaddress.IPv4Address(text))
        except ValueError:
            raise _wrong(field, text, "; an IPv4 address has four numbers from 0 to 255") from None
    if len(text) > MOST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise _wrong(field, text, ", which is not a name")
    return text


def checked_tls(record: Mapping[str, Any], *ways: str, allow_private: bool) -> str:
    """How the connection to a server is encrypted. The first way is the default, and the last one is not at all."""
    way = record.get("tls", ways[0])
    if not isinstance(way, str) or way not in ways:
        raise invalid(f"tls is {str(way)!r:.40}; it is {' or '.join(ways)}", field="tls")
    if way == ways[-1] and not allow_private:
        raise invalid(f"tls is {way}, which only a destination with allow_private may have", field="tls")
    return way


def checked_host(record: Mapping[str, Any], *ports: int, allow_private: bool) -> Host:
    """The host and the port of a document; raises a `Problem` if they cannot be reached.

    `ports` are those that such servers have below 1024, with the default first. Others below 1024 need `allow_private`.
    Names are resolved and checked at each attempt, not here.
    """
    text = record.get("host")
    if not isinstance(text, str) or not text:
        raise invalid("host is missing; it is the name or the address of the server", field="host")
    if ":" in text and not text.startswith("["):
        text = f"[{text}]"
    found = Host(parsed_host(text, "host"), whole(record.get("port", ports[0]), "port", 1, _MOST_PORT))
    if not allow_private and found.port < _LEAST_OTHER_PORT and found.port not in ports:
        usual = ", ".join(map(str, ports))
        raise invalid(f"port is {found.port}; it is one of {usual}, or from {_LEAST_OTHER_PORT:,} on", field="port")
    if found.is_address and (reason := refusal(found.host, allow_private=allow_private)):
        raise invalid(f"host leads to {reason}", field="host")
    return found
