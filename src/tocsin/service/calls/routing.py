"""Where and when subscriptions are told: members that those of events and those of windows share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tocsin.service.api import Exchange
from tocsin.service.directory import Route
from tocsin.service.names import amount, instant
from tocsin.service.problems import invalid
from tocsin.service.times import time_text

FIELDS: Final = frozenset(("destination", "throttle_s", "paused_until", "expires_at"))
_YEAR_S: Final = 366 * 86_400


def route_of(exchange: Exchange, record: Mapping[str, Any]) -> Route:
    """The route of a record; raises a `Problem`."""
    name, throttle, number = record.get("destination"), record.get("throttle_s"), None
    if name is not None:
        named = exchange.service.directory.named
        found = named.get((exchange.principal.tenant, name)) if isinstance(name, str) else None
        if found is None:
            raise invalid(f"there is no destination {str(name)!r:.80}; make it first", field="destination")
        number = found.number
    seconds = None if throttle is None else amount(throttle, "throttle_s", 0.001, _YEAR_S)
    return Route(number, seconds, instant(record, "paused_until"), instant(record, "expires_at"))


def members_of(exchange: Exchange, route: Route) -> dict[str, Any]:
    """What a client gets of a route."""
    target = exchange.service.directory.destinations.get(route.destination or 0)
    members: dict[str, Any] = {} if target is None else {"destination": target.id}
    if route.throttle_s is not None:
        members["throttle_s"] = route.throttle_s
    times = {"paused_until": route.paused_until, "expires_at": route.expires_at}
    return members | {name: time_text(moment) for name, moment in times.items() if moment is not None}
