"""Addresses by their number, and networks, as Python's `ipaddress` has them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


def _read(text: object) -> IPv4Address | IPv6Address | None:
    if not isinstance(text, str):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def address(text: object) -> str | None:
    """What an address is compared by: its version, then its number; null for what is no address."""
    found = _read(text)
    return None if found is None else f"{found.version}:{int(found):039}"


def in_network(text: object, *networks: object) -> bool | None:
    """Whether some network has the address in it; UNKNOWN of what is no address."""
    found = _read(text)
    return None if found is None else any(found in ip_network(str(one)) for one in networks)
