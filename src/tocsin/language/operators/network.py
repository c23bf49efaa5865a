"""IP: an address by its number, however it is written. IP_IN: whether an address lies in one of several networks."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from tocsin.language.canonical import constant_text, name_text
from tocsin.language.misplaced import Misplaced
from tocsin.language.needs import listed
from tocsin.language.operators.operator import Function, describe
from tocsin.language.operators.ordered_text import PLACEHOLDER, OrderedText
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Between, Call, Constant, Expression, disjunction

ADDRESS: Final = "IP"
IN_NETWORK: Final = "IP_IN"
_AS_IN: Final = "as in IP_IN(source, '10.0.0.0/8', '2001:db8::/32')"

_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def address_key(text: str) -> str | None:
    """The key of an address: 4 before 6, then by number. None if the text is not an address.

    A zone (`fe80::1%eth0`) does not count. `::ffff:10.0.0.1` is an IPv6 address, as Python's `ipaddress` has it.

    >>> address_key("10.0.0.1"), address_key("::1") == address_key("0:0:0:0:0:0:0:1"), address_key("10.0.0.256")
    ('4 010.000.000.001', True, None)
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return _key(address)


def _key(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if address.version == 4:
        return "4 " + ".".join(f"{part:03d}" for part in address.packed)
    return "6 " + address.packed.hex(":", 2)


class Ends(NamedTuple):
    """The keys of the first and the last address of a network."""

    low: str
    high: str


def ends_of(network: str) -> Ends:
    """The ends of a network. Raises `ValueError` if the text is not a network."""
    found = ipaddress.ip_network(network)
    return Ends(_key(found.network_address), _key(found.broadcast_address))


class Address(OrderedText):
    names, name, kind = (ADDRESS,), ADDRESS, "an IPv4 or IPv6 address"

    def key(self, text: str) -> str | None:
        return address_key(text)


class InNetwork(Function):
    names, takes = (IN_NETWORK,), None

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if len(arguments) < 2:
            raise Misplaced(f"{name} takes an attribute and one or more networks, {_AS_IN}")
        source, *networks = arguments
        if not isinstance(source, Attribute):
            raise Misplaced(f"{name} needs an attribute, not {describe(source)}", source)
        for node in networks:
            if not (isinstance(node, Constant) and isinstance(node.value, str)):
                raise Misplaced(f"{name} needs networks in single quotes, {_AS_IN}, not {describe(node)}", node)
            if problem := _network_problem(node.value):
                raise Misplaced(problem, node)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        source, *networks = parts
        key = address_key(source) if isinstance(source, str) else None
        return None if key is None else any(ends.low <= key <= ends.high for ends in map(ends_of, networks))

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        name = name_text(cast(Attribute, node.arguments[0]).name)
        networks = listed([cast(Constant, one).value for one in node.arguments[1:]])
        return f"{name} an IP address {'in' if wanted else 'outside of'} {networks}"

    def meant(self, node: Call) -> Expression:
        """An OR of ranges of addresses, of which neighbours are joined."""
        source, networks = Call(ADDRESS, node.arguments[:1]), _networks(node)
        return disjunction(
            Between(source, *(Call(ADDRESS, (Constant(str(end)),)) for end in (one[0], one[-1]))) for one in networks
        )

    def has_recipe(self, node: Call) -> bool:
        return False

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return _networks_problem, node.arguments[1:]


def _networks(node: Call) -> list[_Network]:
    """The networks of an IP_IN, without overlaps."""
    given = [ipaddress.ip_network(str(cast(Constant, one).value)) for one in node.arguments[1:]]
    by_version = [[one for one in given if one.version == version] for version in (4, 6)]
    return [one for own in by_version for one in ipaddress.collapse_addresses(own)]  # type: ignore[type-var]


def _networks_problem(*networks: str) -> str | None:
    return next(filter(None, map(_network_problem, networks)), None)


def _network_problem(text: str) -> str | None:
    """What is wrong with the text of a network; None if nothing is."""
    if text.startswith(PLACEHOLDER):
        return None
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return _hint(text)
    return None


def _hint(text: str) -> str:
    try:
        whole = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return f"{constant_text(text[:60])} is not a network; write one such as '10.0.0.0/8' or '2001:db8::/32'"
    return f"{constant_text(text[:60])} has bits behind its prefix; write '{whole}' for the whole network"
