"""The options of all destinations to which the service sends: checked when one is made, and read by its sender."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from tocsin.service.deliver.schedule import SET_ASIDE_TRIES, TRIES
from tocsin.service.names import amount, checked_name, flag, instant, whole
from tocsin.service.problems import Problem, invalid

STRICT, ANY = "strict", "any"
DEAD_LETTER, REJECT = "dead-letter", "reject"
AT_ONCE: Final = 16
"""Requests that an endpoint with `order: any` gets at once."""
_MOST_ATTEMPTS: Final = 100
_MOST_RATE: Final = 10_000.0
_DAY_S: Final = 86_400.0
_TIME: Final = {"type": "string", "format": "date-time"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_TRIES: Final = {"type": "integer", "minimum": 1, "maximum": _MOST_ATTEMPTS}
MEMBERS: Final[Mapping[str, Any]] = {
    "order": {"enum": [STRICT, ANY], "default": STRICT},
    "allow_private": {"type": "boolean", "description": "Whether it may lead to a private address; for admins"},
    "rate_per_s": {
        "type": "number",
        "minimum": 1 / _DAY_S,
        "maximum": _MOST_RATE,
        "description": "The most requests in a second",
    },
    "digest_s": {
        "type": "number",
        "minimum": 0,
        "maximum": _DAY_S,
        "description": "Deliveries of so many seconds come in one request",
    },
    "max_attempts": {**_TRIES, "default": TRIES},
    "set_aside_after": {
        **_TRIES,
        "default": SET_ASIDE_TRIES,
        "description": "With order strict: a delivery that the endpoint refused so often is a dead letter, and the "
        "next ones come",
    },
    "on_full": {"enum": [DEAD_LETTER, REJECT], "default": DEAD_LETTER},
    "paused_until": {**_TIME, "description": "Until then, nothing is sent"},
    "failures_to": {
        "type": "string",
        "minLength": 1,
        "description": "The destination that is told when this one is disabled",
    },
}
"""The members of their documents, with JSON Schemas."""
STATE: Final[Mapping[str, Any]] = {
    "state": {"enum": ["well", "failing", "disabled"], "readOnly": True},
    "reason": {"type": "string", "readOnly": True, "description": "Why the last request failed"},
    "failing_since": {**_TIME, "readOnly": True},
    "disabled_at": {**_TIME, "readOnly": True},
    "next_try": {**_TIME, "readOnly": True, "description": "When what failed is sent again"},
    "template_error": {
        "type": "string",
        "readOnly": True,
        "description": "Why the template failed for the last message, which was sent as the plain document",
    },
    "waiting": {**_COUNT, "readOnly": True, "description": "Deliveries that wait to be sent"},
}
"""The members that tell how they do."""
FIELDS: Final = frozenset(MEMBERS)


class Options(NamedTuple):
    """What the sender reads of a destination's options."""

    is_strict: bool
    allow_private: bool
    gap_ms: float  # between the beginnings of two requests
    digest_ms: int
    max_attempts: int
    paused_until: int  # milliseconds
    failures_to: str | None
    set_aside_after: int = SET_ASIDE_TRIES  # refusals, if the order is strict

    @property
    def slots(self) -> int:
        """Requests at once."""
        return 1 if self.is_strict else AT_ONCE


def options_of(stored: Mapping[str, Any]) -> Options:
    """The options of a destination."""
    rate, paused = stored.get("rate_per_s"), stored.get("paused_until")
    return Options(
        stored["order"] == STRICT,
        stored.get("allow_private", False),
        1000 / rate if rate else 0.0,
        int(stored.get("digest_s", 0) * 1000),
        stored["max_attempts"],
        0 if paused is None else int(datetime.fromisoformat(paused).timestamp() * 1000),
        stored.get("failures_to"),
        stored.get("set_aside_after", SET_ASIDE_TRIES),
    )


def checked(record: Mapping[str, Any], *, is_admin: bool) -> dict[str, Any]:
    """The options of a record as they are stored; raises a `Problem`. Other members do not matter."""
    allow_private = flag(record, "allow_private")
    if allow_private and not is_admin:
        raise Problem(403, "forbidden", "allow_private needs the scope admin")
    options: dict[str, Any] = {
        "order": _one_of(record, "order", STRICT, ANY),
        "max_attempts": whole(record.get("max_attempts", TRIES), "max_attempts", 1, _MOST_ATTEMPTS),
        "on_full": _one_of(record, "on_full", DEAD_LETTER, REJECT),
    }
    tries = whole(record.get("set_aside_after", SET_ASIDE_TRIES), "set_aside_after", 1, _MOST_ATTEMPTS)
    if options["order"] == STRICT:  # with another order, nothing waits behind a delivery
        options["set_aside_after"] = tries
    if allow_private:
        options["allow_private"] = True
    if record.get("rate_per_s") is not None:
        options["rate_per_s"] = amount(record["rate_per_s"], "rate_per_s", 1 / _DAY_S, _MOST_RATE)
    if (digest := amount(record.get("digest_s", 0), "digest_s", 0, _DAY_S)) > 0:
        options["digest_s"] = digest
    if instant(record, "paused_until") is not None:
        options["paused_until"] = record["paused_until"]
    if (other := record.get("failures_to")) is not None:
        if not isinstance(other, str):
            raise invalid("failures_to is the id of a destination", field="failures_to")
        options["failures_to"] = checked_name(other, "destination")
    return options


def _one_of(record: Mapping[str, Any], field: str, default: str, other: str) -> str:
    value = record.get(field, default)
    if not isinstance(value, str) or value not in (default, other):
        raise invalid(f"{field} is {str(value)[:40]!r}; it is {default} or {other}", field=field)
    return value
