"""The schema of destinations, made from the kinds: their members, and which of them a document of each kind has."""

from __future__ import annotations

from typing import Any, Final

from tocsin.service.deliver import options
from tocsin.service.deliver.kinds import common_members, kinds, sending_kinds
from tocsin.service.deliver.protocols import Kind, Sending
from tocsin.service.deliver.templates import shape
from tocsin.service.directory import NAMED

_COUNT: Final = {"type": "integer", "minimum": 0, "readOnly": True}
_SHOWN: Final[dict[str, Any]] = {
    "id": {"type": "string", "readOnly": True},
    "epoch": {"type": "string", "readOnly": True},
    "newest": _COUNT,
    "acknowledged": _COUNT,
    "earliest": _COUNT,
    "subscriptions": _COUNT,
}
PREVIEWS, MOST_PREVIEWS = 3, 10
"""Deliveries of a preview."""
SHOWN: Final = frozenset((*_SHOWN, *options.STATE))
"""The members that only answers have. In what clients send they do not count."""


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas that depend on the kinds, by name."""
    return {"Destination": destination(), "Preview": preview(), "Rotation": rotation()}


def destination() -> dict[str, Any]:
    """The schema of a destination of any kind."""
    members: dict[str, Any] = {
        "kind": {
            "enum": list(kinds()),
            "description": "; ".join(f"{one.name}: {one.about}" for one in kinds().values()),
        },
        NAMED: {"type": "boolean", "description": "Whether deliveries tell which named parts held"},
    }
    for kind in kinds().values():
        for name, schema in kind.members.items():
            known = members.get(name)
            members[name] = schema if known in (None, schema) else _either(known, schema)
    members |= {**options.MEMBERS, shape.TEMPLATE: _template(), **options.STATE, **_SHOWN}
    return {"type": "object", "properties": members, "required": ["kind"], "additionalProperties": False}


def _template() -> dict[str, Any]:
    """The schema of the templates of any kind. The rules of destinations say which parts each kind has."""
    parts: dict[str, Any] = {}
    for kind in sending_kinds():
        parts |= shape.schema(kind)["properties"]
    if shape.HEADERS in parts:
        parts[shape.HEADERS] = {key: of for key, of in parts[shape.HEADERS].items() if key != "propertyNames"}
    about = "What is sent instead of the document, in Liquid: the parts that the kind has"
    return {"type": "object", "properties": parts, "additionalProperties": False, "description": about}


def preview() -> dict[str, Any]:
    """The schema of a request for a preview."""
    limit = {"type": "integer", "minimum": 1, "maximum": MOST_PREVIEWS, "default": PREVIEWS}
    about = "How many of the last deliveries"
    members = {shape.TEMPLATE: _template(), "limit": {**limit, "description": about}}
    return {"type": "object", "properties": members, "required": [], "additionalProperties": False}


def rotation() -> dict[str, Any]:
    """The schema of a request for another secret."""
    secrets = [one.members[one.secret] for one in sending_kinds() if one.rotates and one.secret is not None]
    schema = dict(secrets[0]) if len(secrets) == 1 else {"anyOf": secrets}
    members = {"secret": schema, "keep_s": {"type": "number"}}
    return {"type": "object", "properties": members, "required": [], "additionalProperties": False}


def _either(first: dict[str, Any], other: Any) -> dict[str, Any]:
    known = first.get("anyOf", [first])
    return first if other in known else {"anyOf": [*known, other]}


def rules() -> dict[str, Any]:
    """What concerns several members of what clients send: each kind has its own, and needs some of them."""
    return {"allOf": [_rule(kind) for kind in kinds().values()]}


def _rule(kind: Kind) -> dict[str, Any]:
    names = sorted({"kind", NAMED, *kind.members, *common_members(kind), *SHOWN})
    then: dict[str, Any] = {"propertyNames": {"enum": names}, "required": list(kind.required)}
    then["description"] = kind.about
    own = {name: _or_null(schema) for name, schema in kind.members.items() if name not in kind.required}
    if isinstance(kind, Sending) and kind.parts:
        own[shape.TEMPLATE] = _or_null(shape.schema(kind))
    then["properties"] = own | {name: dict(kind.members[name]) for name in kind.required}
    return {"if": {"properties": {"kind": {"const": kind.name}}}, "then": then}


def _or_null(schema: Any) -> dict[str, Any]:
    return {"anyOf": [dict(schema), {"type": "null"}]}
