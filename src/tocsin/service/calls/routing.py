"""Where and when subscriptions are told: members that those of events and those of windows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tocsin.errors import RecordError
from tocsin.records.subscriptions import from_json
from tocsin.service.api import Exchange
from tocsin.service.directory import Route
from tocsin.service.names import amount, checked_name, instant
from tocsin.service.problems import Problem, invalid
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
    seconds = None if throttle is None else throttle_of(throttle)
    return Route(number, seconds, instant(record, "paused_until"), instant(record, "expires_at"))


def members_of(exchange: Exchange, route: Route) -> dict[str, Any]:
    """What a client gets of a route."""
    target = exchange.service.directory.destinations.get(route.destination or 0)
    members: dict[str, Any] = {} if target is None else {"destination": target.id}
    if route.throttle_s is not None:
        members["throttle_s"] = route.throttle_s
    times = {"paused_until": route.paused_until, "expires_at": route.expires_at}
    return members | {name: time_text(moment) for name, moment in times.items() if moment is not None}


def throttle_of(value: object) -> float:
    """The seconds of a throttle; raises a `Problem`."""
    return amount(value, "throttle_s", 0.001, _YEAR_S)


def _instant(field: str, value: Any) -> int | None:
    return instant({field: value}, field)


def _name(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise invalid(f"{field} is {str(value)[:40]}; it is a name", field=field)
    return checked_name(value, field)


def _checked(field: str, check: Callable[[Any], object]) -> Callable[[Any], None]:
    """The check of a field for those who have no service: it raises `RecordError`."""

    def run(value: Any) -> None:
        try:
            check(value)
        except Problem as problem:
            raise RecordError(problem.detail, field) from None

    return run


CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "throttle_s": _checked(
        "throttle_s", lambda value: throttle_of(from_json(value) if isinstance(value, str) else value)
    ),
    **{name: _checked(name, partial(_instant, name)) for name in ("paused_until", "expires_at")},
    **{name: _checked(name, partial(_name, name)) for name in ("destination", "fence")},
}
"""What checks the fields of a subscription that the service knows, without a service. Texts of a CSV may be numbers."""
