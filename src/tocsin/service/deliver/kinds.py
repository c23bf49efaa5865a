"""The kinds of destinations: a table with those of tocsin, and those that other packages publish."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, NamedTuple

from tocsin.errors import MissingExtra
from tocsin.service.deliver import options as shared
from tocsin.service.deliver.email.kind import Email
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.kafka.kind import Kafka
from tocsin.service.deliver.mqtt.kind import Mqtt
from tocsin.service.deliver.protocols import GROUP, Channel, Kind, Message, Sending, Surroundings
from tocsin.service.deliver.resolver import Unreachable
from tocsin.service.deliver.stream.kind import Stream
from tocsin.service.deliver.templates.shape import TEMPLATE, checked_template
from tocsin.service.deliver.verdict import Verdict
from tocsin.service.deliver.webhook.kind import Webhook
from tocsin.service.directory import NAMED
from tocsin.service.names import flag, only, present
from tocsin.service.problems import Problem, invalid

_LOG: Final = logging.getLogger("tocsin.service")
OWN: Final[tuple[Kind, ...]] = (Stream(), Webhook(), Email(), Mqtt(), Kafka())
"""The kinds of tocsin: a line each."""


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds by name. A published kind that cannot be loaded, or whose name is taken, is logged and left out."""
    known = {kind.name: kind for kind in OWN}
    for point in entry_points(group=GROUP):
        try:
            kind = point.load()
        except Exception:  # a package's import may raise anything  # noqa: BLE001
            _LOG.exception("the kind of destinations %s of %s cannot be loaded", point.name, point.value)
            continue
        if not isinstance(kind, Kind) or kind.name != point.name or kind.name in known:
            _LOG.error("%s is not a new kind of destinations with the name %s", point.value, point.name)
            continue
        known[kind.name] = kind
    return known


def sending_kinds() -> Iterator[Sending]:
    """The kinds to whose destinations the service sends."""
    return (kind for kind in kinds().values() if isinstance(kind, Sending))


def sending_kind(name: str) -> Sending:
    """The kind of a destination that has an outbox. If nobody publishes it any more, its deliveries wait."""
    kind = kinds().get(name)
    return kind if isinstance(kind, Sending) else _Missing(name)


class Checked(NamedTuple):
    """A destination's document: its kind, its options as they are stored, and its secret."""

    kind: Kind
    options: dict[str, Any]
    secret: str | None = None  # that came
    drops_secret: bool = False  # null came instead


def checked_document(record: Mapping[str, Any], *, is_admin: bool) -> Checked:
    """The parts of a document; raises a `Problem`."""
    name = record.get("kind")
    kind = kinds().get(name) if isinstance(name, str) else None
    if kind is None:
        raise invalid(f"kind is {str(name)!r:.40}; it is {' or '.join(kinds())}", field="kind")
    member = kind.secret if isinstance(kind, Sending) else None
    given = {field: value for field, value in record.items() if field != member}
    common = common_members(kind)
    own = frozenset(kind.members)
    only(given, (own | common | {"kind", NAMED}) - {member}, f"destination of kind {kind.name}")
    given = present(given)
    named = {NAMED: True} if flag(given, NAMED) else {}
    of_all = shared.checked(given, is_admin=is_admin) if isinstance(kind, Sending) else {}
    is_private = bool(of_all.get("allow_private"))
    if isinstance(kind, Sending):
        _require_libraries(kind)
    of_kind = kind.checked({name: given[name] for name in own if name in given}, allow_private=is_private)
    options = of_kind | of_all | named | _template(kind, given)
    if not isinstance(kind, Sending) or member is None or member not in record:
        return Checked(kind, options)
    if record[member] is None:
        return Checked(kind, options, drops_secret=not kind.rotates)
    return Checked(kind, options, kind.checked_secret(record[member]))


def common_members(kind: Kind) -> frozenset[str]:
    """The members that a kind has in common with others: none, or the options of outlets, and templates."""
    if not isinstance(kind, Sending):
        return frozenset()
    return shared.FIELDS | {TEMPLATE} if kind.parts else shared.FIELDS


def _template(kind: Kind, record: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(kind, Sending) or TEMPLATE not in record:
        return {}
    template = checked_template(kind, record[TEMPLATE])
    return {TEMPLATE: template} if template else {}


def _require_libraries(kind: Sending) -> None:
    try:
        kind.require_libraries()
    except MissingExtra as error:
        raise invalid(f"this server cannot send to destinations of kind {kind.name}: {error}", field="kind") from None


def own_options(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a destination that are of its kind alone."""
    return {name: value for name, value in stored.items() if name not in (*shared.FIELDS, NAMED, TEMPLATE)}


class _Missing(Sending):
    """A kind that was published when a destination was made, and is not now."""

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def channel(self, options: Mapping[str, Any], around: Surroundings) -> Channel:
        return _Nowhere(self.name)


class _Nowhere:
    """A channel that reaches nobody."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    async def send(self, message: Message, secrets: Sequence[Secret]) -> Verdict:
        """Always `Unreachable`."""
        raise Unreachable(f"this server has no destinations of kind {self._kind}; install the package that has them")

    async def close(self) -> None:
        """Nothing is open."""


def secret_problem(kind: Sending) -> Problem:
    """The problem if the secret of a destination would be sent elsewhere than before."""
    detail = f"{kind.secret} is missing: the change sends it elsewhere, so give it again, or null for none"
    return invalid(detail, field=kind.secret)
