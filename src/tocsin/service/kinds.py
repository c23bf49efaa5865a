"""The kinds of destinations: a row each, with the options that such a destination has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tocsin.service.names import only
from tocsin.service.problems import invalid


class Kind(NamedTuple):
    """A kind of destination. `check` gives the options of a record as they are stored, or raises a `Problem`."""

    name: str
    fields: frozenset[str]
    check: Callable[[Mapping[str, Any]], dict[str, Any]]


KINDS: Final = {
    one.name: one
    for one in (
        Kind("stream", frozenset(), lambda record: {}),  # read by streams and pulls alone
    )
}


def checked_options(record: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind and the options of a destination's record."""
    name = record.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        known = " or ".join(KINDS)
        raise invalid(f"kind is {str(name)!r:.40}; it is {known}", field="kind")
    only(record, kind.fields | {"kind"}, f"destination of kind {kind.name}")
    return kind.name, kind.check(record)
