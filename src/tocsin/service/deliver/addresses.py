"""Which addresses a destination may reach: public ones, and private ones if the destination allows them.

`ipaddress.is_global` says True of several addresses that lead elsewhere: those with an IPv4 address inside, and
multicast. So the rules stand here: an IPv4 address inside an IPv6 address is judged by itself, and of IPv6 only what
is assigned for global unicast is public.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


_METADATA: Final = _networks(
    "169.254.0.0/16", "fe80::/10",  # most clouds have it on a link-local address
    "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",  # Alibaba, Azure, Oracle
    "fd00:ec2::/32", "fd20:ce::/32",  # Amazon, Google
)  # fmt: skip
"""Link-local addresses and services with the machine's credentials: never reached."""
_PRIVATE: Final = _networks(
    "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15",
    "::1/128", "fc00::/7",
)  # fmt: skip
"""Reached only by a destination with `allow_private`."""
_RESERVED: Final = _networks(
    "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
    "2001::/23", "2001:db8::/32", "3fff::/20",
)  # fmt: skip
"""Multicast, documentation, tunnels whose other end is unknown, and what has no owner: never reached."""
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
_LAST_32_BITS: Final = tuple(
    ipaddress.IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
"""IPv4-compatible, IPv4-mapped, translated (SIIT) and translated by NAT64."""
_SIX_TO_FOUR: Final = ipaddress.IPv6Network("2002::/16")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


def inside(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    number = int(address)
    if any(address in one for one in _LAST_32_BITS) or number >> 32 & 0xFFFFFFFF in _ISATAP:
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        yield ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF)


def refusal(text: str, *, allow_private: bool) -> str:
    """Why an address may not be reached; empty if it may."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return f"{text!r:.60} is not an address"
    if isinstance(address, ipaddress.IPv4Address):
        return _refusal(address, allow_private=allow_private)
    if int(address) in (0, 1):
        return _refusal(address, allow_private=allow_private)
    embedded = list(inside(address))
    for one in embedded:
        if reason := _refusal(one, allow_private=allow_private):
            return f"{address} leads to {reason}"
    is_judged = embedded and address in _TRANSLATED
    return "" if is_judged else _refusal(address, allow_private=allow_private)


def _refusal(address: Address, *, allow_private: bool) -> str:
    if any(address in one for one in _METADATA):
        return f"{address}, which is link-local or serves metadata"
    if any(address in one for one in _PRIVATE):
        return (
            "" if allow_private else f"{address}, which is private: only a destination with allow_private may reach it"
        )
    is_elsewhere = isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST
    if is_elsewhere or any(address in one for one in _RESERVED):
        return f"{address}, which is reserved"
    return ""
