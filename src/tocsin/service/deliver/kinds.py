"""The kinds of destinations: a row each, with the options that such a destination has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tocsin.service.deliver import options as webhook
from tocsin.service.directory import NAMED
from tocsin.service.names import flag, only, present
from tocsin.service.problems import invalid


class Kind(NamedTuple):
    """A kind of destination. `check` gives the options of a record as they are stored, or raises a `Problem`.

    Every kind has the option `named`, too.
    Its second argument says whether the sender of the request is an admin.
    """

    name: str
    fields: frozenset[str]
    check: Callable[[Mapping[str, Any], bool], dict[str, Any]]


KINDS: Final = {
    one.name: one
    for one in (
        Kind("stream", frozenset(), lambda record, is_admin: {}),  # read by streams and pulls alone
        Kind("webhook", webhook.FIELDS, lambda record, is_admin: webhook.checked(record, is_admin=is_admin)),
    )
}


def checked_options(record: Mapping[str, Any], *, is_admin: bool) -> tuple[str, dict[str, Any]]:
    """The kind and the options of a destination's record."""
    name = record.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        known = " or ".join(KINDS)
        raise invalid(f"kind is {str(name)!r:.40}; it is {known}", field="kind")
    only(record, kind.fields | {"kind", NAMED}, f"destination of kind {kind.name}")
    record = present(record)
    named = {NAMED: True} if flag(record, NAMED) else {}
    return kind.name, kind.check(record, is_admin) | named
