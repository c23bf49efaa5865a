"""URLs of webhooks: one strict syntax, so that every part of the program reads the same host in it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tocsin.service.deliver.addresses import refusal
from tocsin.service.deliver.hosts import is_address, parsed_host
from tocsin.service.problems import Problem, invalid

URL_LENGTH: Final = 2048
"""The most characters of a URL."""
_URL: Final = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>(?:/[^?#]*)?(?:\?[^#]*)?)", re.I)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]@]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_OF_TARGETS: Final = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*"
_TARGET: Final = re.compile(_OF_TARGETS)
_IN_NAME: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_BYTE: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_OTHER_END: Final = r"(?![0-9]+(?:[:/?]|$)|0[xX][0-9A-Fa-f]*(?:[:/?]|$))"
_HOST: Final = rf"(?:\[[0-9A-Fa-f:.]+\]|{_BYTE}(?:\.{_BYTE}){{3}}|(?:{_IN_NAME}\.)*{_OTHER_END}{_IN_NAME}(?=[:/?]|$))"
URL_PATTERN: Final = rf"^[Hh][Tt][Tt][Pp][Ss]?://{_HOST}(?::[1-9][0-9]{{0,4}})?(?:[/?]{_OF_TARGETS})?$"
"""The syntax, for schemas. The numbers of an IPv6 address and of a port are checked by the server alone."""
_PORTS: Final = {"http": 80, "https": 443}
_LEAST_OTHER_PORT: Final = 1024


class Url(NamedTuple):
    """The parts of a URL. `host` is a name in small letters, or an address without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def is_address(self) -> bool:
        """Whether the host is an address."""
        return is_address(self.host)

    @property
    def authority(self) -> str:
        """The host and the port, as in the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def at(self, address: str) -> str:
        """The same URL with an address as its host."""
        return f"{self.scheme}://{f'[{address}]' if ':' in address else address}:{self.port}{self.target}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def _wrong(reason: str) -> Problem:
    return invalid(f"url {reason}", field="url")


def parsed_url(text: object) -> Url:
    """The parts of a URL; raises a `Problem` unless it is of the strict syntax."""
    if not isinstance(text, str) or not 0 < len(text) <= URL_LENGTH:
        raise _wrong(f"is not a text of 1 to {URL_LENGTH:,} characters")
    if not text.isascii():
        raise _wrong("has characters beyond ASCII; write names as xn--... and others as %..")
    found = _URL.fullmatch(text)
    if found is None:
        raise _wrong("is not of the form https://host:port/path?query; a fragment is not allowed")
    if "@" in found["authority"]:
        raise _wrong("has a user or a password; the signature shows who sends")
    place = _AUTHORITY.fullmatch(found["authority"])
    if place is None:
        raise _wrong(f"has the host {found['authority']!r:.80}, which is not one")
    if not _TARGET.fullmatch(found["target"]):
        raise _wrong("has a path or query with characters that are written as %..")
    scheme = found["scheme"].lower()
    port = int(place["port"] or _PORTS[scheme])
    if port > 65_535:
        raise _wrong(f"has the port {port}; there are 65,535")
    target = found["target"] if found["target"].startswith("/") else f"/{found['target']}"
    return Url(scheme, parsed_host(place["host"], "url"), port, target)


def checked_target(text: str) -> str:
    """A path and query that a template made; raises a `Problem` unless it is of the strict syntax."""
    if not text.startswith("/") or len(text) > URL_LENGTH or not _TARGET.fullmatch(text):
        detail = f"path is {text!r:.80}; it begins with /, and has other characters as %.. (the filter url_encode)"
        raise invalid(detail, field="template")
    return text


def checked_url(text: object, *, allow_private: bool) -> str:
    """A URL as it is stored; raises a `Problem` if it cannot be a target.

    Names are resolved and checked at each attempt, not here.
    """
    url = parsed_url(text)
    if not allow_private and url.port < _LEAST_OTHER_PORT and url.port not in _PORTS.values():
        raise _wrong(f"has the port {url.port}; it is 80, 443, or from {_LEAST_OTHER_PORT:,} on")
    if url.is_address and (reason := refusal(url.host, allow_private=allow_private)):
        raise _wrong(f"leads to {reason}")
    return str(url)
