"""Rules of the documents that clients send, in the OpenAPI document: the server refuses what they exclude.

`schemas` has the types of the members. Optional members may also be null, which says that they are absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tocsin.model.fence import SPAN_PATTERN

Schema = Mapping[str, Any]
_YEAR_S: Final = 366 * 86_400
_DAY_S: Final = 86_400
_MOST_NUMBER: Final = 2**53 - 1
_NAME: Final = {"minLength": 1}
_SENTENCE: Final = {"minLength": 1, "maxLength": 1024}
_COORDINATES: Final = {"minItems": 2, "maxItems": 3, "items": {"type": "number"}}
_PLACE: Final = {
    **_COORDINATES,
    "properties": {"type": {"const": "Point"}, "coordinates": {"type": "array", **_COORDINATES}},
    "required": ["type", "coordinates"],
}
"""Of an array, or of an object. A third number is an altitude, which is ignored."""
_ROUTE: Final = {"destination": {}, "throttle_s": {"maximum": _YEAR_S}}
_AFTER: Final = {"minimum": 1, "pattern": SPAN_PATTERN}

MEMBERS: Final[Mapping[str, Mapping[str, Schema]]] = {
    "Acknowledgement": {"sequence": {"maximum": _MOST_NUMBER}},
    "Advance": {},
    "CloudEvent": {"id": _SENTENCE, "source": _SENTENCE, "type": _SENTENCE},
    "Condition": {},
    "Destination": {},
    "DryRun": {"since_s": {"maximum": _YEAR_S}},
    "Explain": {},
    "Fence": {
        "key": _NAME,
        "time": _NAME,
        "path": _NAME,
        "accuracy": _NAME,
        "enter_after": _AFTER,
        "exit_after": _AFTER,
        "dwell": {"minimum": 0, "pattern": SPAN_PATTERN},
        "forget_after": {"exclusiveMinimum": 0, "pattern": SPAN_PATTERN},
        "no_places": {"items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}},
    },
    "Interest": {
        **_ROUTE,
        "words": {"minItems": 1},
        "text": {"minLength": 1},
        "location": _PLACE,
        "alpha": {"minimum": 0, "exclusiveMaximum": 1},
    },
    "Message": {"location": _PLACE},
    "Preview": {},
    "Replay": {"from": {"minimum": 1, "maximum": _MOST_NUMBER}},
    "Rotation": {"keep_s": {"minimum": 0, "maximum": 30 * _DAY_S}},
    "Subscription": {**_ROUTE, "weights": {"additionalProperties": {"type": "number", "minimum": 0}}},
    "Window": {
        "time": {"exclusiveMinimum": 0},
        "weights": {"additionalProperties": {"type": "number", "minimum": 1e-100, "maximum": 1e100}},
    },
}
"""Keywords of single members."""


def _given(*names: str) -> dict[str, Any]:
    """Members that are there, and not null."""
    return {"required": list(names), "properties": {name: {"not": {"type": "null"}} for name in names}}


def _either(first: str, second: str) -> dict[str, Any]:
    """Exactly one of two members."""
    return {"oneOf": [_given(first), _given(second)]}


def _needs_time(name: str, *kinds: str) -> dict[str, Any]:
    """A member that needs `time` if its value is of some types."""
    return {"if": {**_given(name), "properties": {name: {"type": list(kinds)}}}, "then": _given("time")}


WHOLE: Final[Mapping[str, Schema]] = {
    "CloudEvent": {
        "properties": {name: {} for name in ("specversion", "id", "source", "type", "data")},
        "additionalProperties": {"type": ["string", "integer", "boolean", "null"], "maxLength": 1024},
        "propertyNames": {"pattern": "^[a-z0-9]{1,64}$"},
    },
    "Explain": _either("id", "where"),
    "Fence": {
        "allOf": [
            _needs_time("dwell", "number", "string"),
            _needs_time("forget_after", "number", "string"),
            _needs_time("enter_after", "string"),
            _needs_time("exit_after", "string"),
        ]
    },
    "Interest": _either("words", "text"),
    "Message": _either("words", "text"),
    "Replay": _either("from", "since"),
    "Window": {"anyOf": [_given("size"), _given("time")]},
}
"""What concerns several members of a document. Answers need not have it: operators do not see all members."""


def with_rules(name: str, schema: Schema) -> Schema:
    """The schema of a document, with the rules of its members."""
    if name not in MEMBERS:
        return schema
    properties = {member: {**kind, **MEMBERS[name].get(member, {})} for member, kind in schema["properties"].items()}
    optional = {
        member: _or_null(kind)
        for member, kind in properties.items()
        if member not in schema["required"] and not kind.get("readOnly")
    }
    return {**schema, "properties": properties | optional}


def _or_null(kind: Schema) -> Schema:
    if "enum" in kind:
        return {**kind, "enum": [*kind["enum"], *([] if None in kind["enum"] else [None])]}
    if "type" not in kind:
        return kind
    types = [kind["type"]] if isinstance(kind["type"], str) else list(kind["type"])
    return {**kind, "type": types if "null" in types else [*types, "null"]}
