"""The limits of tenants: a table of settings, each an option of `tocsin serve` and a key of a TOML file.

[default]
events_per_s = 1000

[tenants.acme]
events_per_s = 50
subscriptions = 10000
"""

from __future__ import annotations

import logging
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.errors import InvalidInput
from tocsin.newest import Newest, mark_of
from tocsin.service.access.tokens import tenant_name

_LOG: Final = logging.getLogger("tocsin.service")
_SETTLED_S: Final = 2.0
"""After so long, a file that changes again has another time of change, also on coarse file systems."""

CONNECTIONS: Final = 10_000
"""Connections that a server has at once, of all tenants and of those without a token."""
CONNECTIONS_PER_ADDRESS: Final = 2_000


class Limits(NamedTuple):
    """What the requests of a tenant, and what is kept of it, may take. Infinity: no limit."""

    body_bytes: float = 16 << 20
    bodies_bytes: float = 128 << 20  # of requests that are answered at once
    answers_bytes: float = 128 << 20  # of large answers that are made and sent at once
    payload_bytes: float = 64 << 10
    streams: float = 10_000
    retain_s: float = 7 * 86_400
    retain_bytes: float = 10 << 30
    answers_s: float = 86_400  # how long idempotency keys are kept
    events_per_s: float = 1_000_000  # published or matched, on average
    burst: float = math.inf  # events at once; infinity: those of ten seconds
    subscriptions: float = 10_000_000
    subscription_cost: float = 10_000
    payloads_bytes: float = 4 << 30  # of all subscriptions, with their conditions
    store_bytes: float = 100 << 30
    windows: float = 100
    window_messages: float = 1_000_000
    window_bytes: float = 2 << 30  # in memory: of the subscriptions of all windows, and as many of their messages
    fences: float = 20
    fence_objects: float = 1_000_000
    outbox: float = 1_000_000  # deliveries that wait for a destination
    outbox_bytes: float = 1 << 30


class Setting(NamedTuple):
    """A limit that users set, in units of their own. `least` is the smallest value that makes sense."""

    key: str
    field: str
    unit: float
    about: str
    least: float = 1

    @property
    def default(self) -> float:
        """The value that it has if nobody sets it."""
        value: float = Limits._field_defaults[self.field] / self.unit
        return value


SETTINGS: Final = (
    Setting("body_mb", "body_bytes", 1 << 20, "the largest body of a request, in megabytes", 0.001),
    Setting(
        "bodies_mb", "bodies_bytes", 1 << 20, "the bodies of requests that are answered at once, in megabytes", 0.001
    ),
    Setting(
        "answers_mb",
        "answers_bytes",
        1 << 20,
        "the large answers and parts of streams that are made and sent at once, in megabytes",
        0.001,
    ),
    Setting("payload_kb", "payload_bytes", 1 << 10, "the largest payload of a subscription, in kilobytes", 0),
    Setting("retain_days", "retain_s", 86_400, "how long events are kept", 0),
    Setting("retain_gb", "retain_bytes", 1 << 30, "how many gigabytes of events are kept, before the oldest go", 0),
    Setting("streams", "streams", 1, "how many streams and waiting pulls are open at once"),
    Setting("events_per_s", "events_per_s", 1, "events a second that are published or matched", 0.001),
    Setting("burst", "burst", 1, "events that may come at once, above that rate"),
    Setting("subscriptions", "subscriptions", 1, "how many subscriptions there are", 0),
    Setting("subscription_cost", "subscription_cost", 1, "what one subscription may cost: docs/service.md has prices"),
    Setting(
        "payloads_mb",
        "payloads_bytes",
        1 << 20,
        "the payloads and conditions of all subscriptions, in megabytes",
        0.001,
    ),
    Setting("windows", "windows", 1, "how many windows there are", 0),
    Setting("window_messages", "window_messages", 1, "how many messages one window has"),
    Setting(
        "window_mb", "window_bytes", 1 << 20, "the memory of all windows' subscriptions, and of their messages, in MB"
    ),
    Setting("fences", "fences", 1, "how many fences there are", 0),
    Setting("fence_objects", "fence_objects", 1, "how many objects one fence follows"),
    Setting("outbox", "outbox", 1, "how many deliveries wait for a destination, before further ones are dead letters"),
    Setting("outbox_mb", "outbox_bytes", 1 << 20, "the same in megabytes", 0.001),
    Setting("store_gb", "store_bytes", 1 << 30, "the size of the store from which nothing more is taken", 0.001),
)
_KNOWN: Final = {one.key: one for one in SETTINGS}


def limited(before: Limits, given: Mapping[str, Any], where: str | None) -> Limits:
    """Limits with some settings changed: those of a document, which errors name, or options of the command."""
    changed = {}
    for key, value in given.items():
        setting = _KNOWN.get(key)
        if setting is None:
            raise InvalidInput(f"{where} has no limit {key!r:.40}; there are {', '.join(_KNOWN)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not setting.least <= value < math.inf:
            name = f"--{key.replace('_', '-')}" if where is None else f"{where}: {key}"
            raise InvalidInput(f"{name} is {value!r:.40}; it is a number from {setting.least:g} on")
        changed[setting.field] = value * setting.unit
    return before._replace(**changed)


@dataclass(frozen=True)
class TenantLimits:
    """The limits of each tenant by name."""

    default: Limits = field(default_factory=Limits)
    named: Mapping[str, Limits] = field(default_factory=dict)

    def of(self, tenant: str) -> Limits:
        """The limits of a tenant."""
        return self.named.get(tenant, self.default)


class LiveLimits:
    """The limits of a file at any moment. While it cannot be read, those that were read last stay valid."""

    def __init__(self, path: Path, options: Mapping[str, float]) -> None:
        self._path = path
        self.newest = Newest(
            lambda: mark_of(path), lambda: read_limits(path, options), failed=self._failed, recovered=self._recovered,
            settles_s=_SETTLED_S,
        )  # fmt: skip

    @property
    def is_readable(self) -> bool:
        """Whether the limits are those of the file."""
        return self.newest.failure is None

    def _failed(self, reason: str) -> None:
        _LOG.error("the limits that were read last stay valid: %s", reason)

    def _recovered(self) -> None:
        _LOG.warning("%s is read again", self._path)


def read_limits(path: Path | None, options: Mapping[str, float]) -> TenantLimits:
    """The limits of a file, if there is one. Options of the command replace its defaults, and not those of a tenant."""
    document: dict[str, Any] = {}
    if path is not None:
        try:
            document = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{path} cannot be read: {error}") from None
    for name, value in document.items():
        if name not in ("default", "tenants") or not isinstance(value, dict):
            raise InvalidInput(f"{path} has {name!r:.40}; it has the tables [default] and [tenants.NAME]")
    default = limited(Limits(), document.get("default", {}), f"{path}, [default]")
    default = limited(default, options, None)
    named = {}
    for name, table in document.get("tenants", {}).items():
        if not isinstance(table, dict):
            raise InvalidInput(f"{path} has tenants.{name:.40}; write [tenants.{name:.40}]")
        named[tenant_name(name)] = limited(default, table, f"{path}, [tenants.{name}]")
    return TenantLimits(default, named)
