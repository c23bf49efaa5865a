"""The number of connections of a server, in all and for each address."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, Protocol

from tocsin.service.limits import CONNECTIONS, CONNECTIONS_PER_ADDRESS
from tocsin.service.problems import Problem

_LOG: Final = logging.getLogger("tocsin.service")
_MOST_WAITING: Final = 100
"""Refused connections that wait for their request, to answer it."""
_LOG_S: Final = 60.0
_RESERVED: Final = 512
"""Files that the server opens besides connections."""
_MACOS_FILES: Final = 10_240
"""Files that a process of macOS may open, whatever its limit says."""
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Connection(Protocol):
    """A connection that can be closed."""

    def give_up(self) -> None:
        """Close it without an answer."""


class Connections:
    """The connections that are open. When there are too many, one that waits for a request makes room for a new one.

    An IPv6 network of 64 bits counts as one address. The addresses of proxies have no limit of their own.
    """

    def __init__(
        self, most: int = CONNECTIONS, per_address: int = CONNECTIONS_PER_ADDRESS, proxies: Sequence[str] = ()
    ) -> None:
        self._most, self._per_address = most, per_address
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]
        self._open: dict[Connection, object] = {}  # with their addresses
        self._counts: Counter[object] = Counter()
        self._idle: dict[Connection, None] = {}  # the longest idle first
        self._waiting: set[Connection] = set()
        self._logged = -_LOG_S
        self.refused = {"all": 0, "address": 0}

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: Connection, host: str | None) -> Problem | None:
        """Count a connection; returns why it is refused, if it is."""
        address = None if host is None else _network_of(host)
        is_proxy = any(_is_inside(host, network) for network in self._proxies) if host and self._proxies else False
        if not is_proxy and address is not None and self._counts[address] >= self._per_address:
            return self._refused("address", f"this address has {self._per_address:,} connections")
        if len(self._open) >= self._most:
            if not self._idle:
                return self._refused("all", f"the server has {self._most:,} connections")
            longest = next(iter(self._idle))
            self.leave(longest)
            longest.give_up()
        self._open[connection] = address
        self._counts[address] += 1
        self._idle[connection] = None
        return None

    def _refused(self, limit: str, reason: str) -> Problem:
        self.refused[limit] += 1
        now = time.monotonic()
        if now - self._logged >= _LOG_S:
            self._logged = now
            option = "--connections" if limit == "all" else "--connections-per-address"
            _LOG.warning("connections are refused: %s (%s)", reason, option)
        return Problem(503, "connections", f"{reason}; close one", headers={"Retry-After": "5"}, limit=limit)

    def may_wait(self, connection: Connection) -> bool:
        """Whether a refused connection may wait for its request, to answer it."""
        if len(self._waiting) >= _MOST_WAITING:
            return False
        self._waiting.add(connection)
        return True

    def idle(self, connection: Connection) -> None:
        """Note that a connection waits for a request."""
        if connection in self._open:
            self._idle[connection] = None

    def busy(self, connection: Connection) -> None:
        """Note that a connection has a request."""
        self._idle.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """Forget a connection. It may be forgotten already."""
        self._waiting.discard(connection)
        self._idle.pop(connection, None)
        if connection in self._open:
            address = self._open.pop(connection)
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]


@lru_cache(1 << 12)
def _network_of(host: str) -> object:
    """The address itself, or the IPv6 network that its owner has."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return address
    return address.ipv4_mapped or int(address) >> 64


def _is_inside(host: str, network: Network) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address) in network


def room_for(connections: int) -> int:
    """How many of these connections the process may open. Its limit of files is raised as far as it may be."""
    try:
        import resource
    except ImportError:  # as on Windows
        return connections
    wanted = connections + _RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    for files in (most, min(most, _MACOS_FILES)):
        if soft != resource.RLIM_INFINITY and soft < files:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
                soft = files
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    return max(1, soft - min(_RESERVED, soft // 2))
