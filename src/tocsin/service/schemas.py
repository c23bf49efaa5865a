"""Schemas of documents, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from tocsin.language.dialects import DIALECTS
from tocsin.service.diagnosis import SCHEMA as DIAGNOSIS
from tocsin.window.frequencies import BOOLEAN, TERM_FREQUENCIES

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_TIME: Final = {"type": "string", "format": "date-time"}
_ID: Final = {"type": ["string", "integer"]}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_IDS: Final = {"type": "array", "items": _ID}
_ANY: Final[dict[str, Any]] = {}


def _object(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


_ROUTE: Final = {
    "destination": {**_TEXT, "description": "Where matches, or changes, are delivered"},
    "throttle_s": {"type": "number", "minimum": 0.001, "description": "One delivery in so many seconds"},
    "paused_until": {**_TIME, "description": "Until then, they are counted but not delivered"},
    "expires_at": {**_TIME, "description": "The subscription is deleted then"},
}
_PLACE: Final = {"type": ["array", "object"], "description": "[x, y], or a GeoJSON point"}
_MATCH: Final = {"id": _ID, "score": {"type": ["number", "null"]}, "payload": _ANY}
_NAMED: Final = {"type": "object", "description": "The named parts that held, with the places of list elements"}
_LEFT_OUT: Final = {
    "type": "array",
    "items": {"const": "payload"},
    "description": "What the delivery was too large for",
}
_TOLD: Final = _object({**_MATCH, "named": _NAMED, "left_out": _LEFT_OUT}, "id", "score", "payload")
_CONDITION: Final = {
    "type": ["string", "object", "boolean"],
    "description": "The condition: CQL2 text or JSON, or a rule of another system",
}
_LANGUAGE: Final = {
    "enum": ["cql2-text", "cql2-json", *DIALECTS],
    "description": "The language of the condition, if it is a rule of another system",
}
_ERRORS: Final = {
    "type": "array",
    "items": _object(
        {"row": _COUNT, "id": _ANY, "field": {"type": ["string", "null"]}, "reason": _TEXT}, "row", "reason"
    ),
}
_CHECK: Final = _object(
    {
        "result": {"enum": ["sound", "damaged", "unfinished"], "description": "The last check of the store by SQLite"},
        "time": _TIME, "seconds": _NUMBER, "reason": _TEXT,
    },
    "result", "time", "seconds",
)  # fmt: skip
SCHEMAS: Final[dict[str, Any]] = {
    "Activity": _object(
        {
            "since": {**_TIME, "description": "When the server began to count"}, "subscriptions": _COUNT,
            "silent": {**_COUNT, "description": "How many subscriptions matched nothing"},
            "busiest": {
                "type": "array",
                "items": _object({"id": _ID, "matches": _COUNT, "last": _TIME}, "id", "matches", "last"),
            },
            "first_silent": {
                "type": "array", "items": _ID,
                "description": "The first of the silent ones, among the first 100,000 subscriptions",
            },
        },
        "since", "subscriptions", "silent", "busiest", "first_silent",
    ),
    "Audit": _object(
        {
            "records": {
                "type": "array",
                "items": _object(
                    {
                        "number": _COUNT, "time": _TIME, "token": {**_TEXT, "description": "The id of the token"},
                        "name": _TEXT, "address": _TEXT, "method": _TEXT, "path": _TEXT,
                        "first": {**_COUNT, "description": "The number of the first change of subscriptions"},
                        "last": {**_COUNT, "description": "The number of the last one"},
                    },
                    "number", "time", "token", "name", "address", "method", "path",
                ),
            },
            "next": _COUNT,
        },
        "records",
    ),
    "Advance": _object(
        {"time": {"type": ["number", "string"], "description": "Seconds, or an instant"}}, "time",
        additionalProperties=False,
    ),
    "Advanced": _object(
        {"changes": _COUNT, "deliveries": _COUNT, "suppressed": _COUNT}, "changes", "deliveries"
    ),
    "Anything": {"type": "object"},
    "Acknowledged": _object({"acknowledged": _COUNT, "newest": _COUNT}, "acknowledged", "newest"),
    "Acknowledgement": _object({"sequence": _COUNT, "epoch": _TEXT}, "sequence", additionalProperties=False),
    "Arrow": {"type": "string", "format": "binary", "description": "An Arrow IPC stream without compression"},
    "Changed": _object({"id": _ID, "sequence": _COUNT, "warnings": _TEXTS}, "id", "sequence"),
    "Clock": _object(
        {
            "time": _TIME,
            "jump_s": {**_NUMBER, "description": "How far the clock jumped ahead; 0 if it did not"},
            "expires": {"type": "boolean", "description": "Whether what is old is deleted"},
        },
        "time", "jump_s", "expires",
    ),
    "ClockConfirmed": _object({"time": _TIME, "confirmed_s": _NUMBER}, "time", "confirmed_s"),
    "CloudEvent": _object(
        {"specversion": {"const": "1.0"}, "id": _TEXT, "source": _TEXT, "type": _TEXT, "data": {"type": "object"}},
        "specversion", "id", "source", "type", "data",
    ),
    "CloudEvents": _list("CloudEvent"),
    "Delivery": _object(
        {
            "sequence": _COUNT,
            "key": {"type": "string", "description": "The same each time that the delivery comes"},
            "event": {"type": "object"},
            "subscriptions": {"type": "array", "maxItems": 1000, "items": _TOLD},
            "destination": _TEXT,
            "published": _TIME,
            "more": {"type": "string", "description": "Where further subscriptions are, if there are any"},
            "count": {"type": "integer", "description": "How many subscriptions there are, if there are more"},
        },
        "sequence", "key", "event", "subscriptions", "destination", "published",
    ),
    "Deliveries": _object(
        {
            "epoch": _TEXT, "earliest": _COUNT, "newest": _COUNT, "acknowledged": _COUNT,
            "deliveries": _list("Delivery"),
        },
        "epoch", "earliest", "newest", "acknowledged", "deliveries",
    ),
    "Checked": _object(
        {
            "valid": {"type": "boolean"}, "text": _TEXT, "attributes": _TEXTS,
            "warnings": {"type": "array", "items": _object({"condition": _TEXT, "reason": _TEXT})},
            "problem": {"type": "object"},
        },
        "valid",
    ),
    "Condition": _object({"where": _CONDITION, "language": _LANGUAGE}, "where", additionalProperties=False),
    "Diagnosis": DIAGNOSIS,
    "DryRan": _object(
        {
            "events": _COUNT, "matches": _COUNT, "unreadable": _COUNT,
            "whole": {"type": "boolean", "description": "Whether all events were looked at that are kept"},
            "from": _TIME, "to": _TIME,
            "histogram": _object({"width_s": _NUMBER, "counts": {"type": "array", "items": _COUNT}}),
            "examples": {"type": "array", "items": _object({"sequence": _COUNT, "published": _TIME, "event": _ANY})},
        },
        "events", "matches", "whole", "unreadable", "examples",
    ),
    "DryRun": _object(
        {
            "where": _CONDITION,
            "language": _LANGUAGE,
            "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 100_000},
            "since_s": {"type": "number", "minimum": 1, "description": "How far back to look"},
        },
        "where", additionalProperties=False,
    ),
    "Explain": _object(
        {"id": _ID, "where": _CONDITION, "language": _LANGUAGE, "event": {"type": "object"}},
        "event", additionalProperties=False,
    ),
    "Explained": _object(
        {
            "matches": {"type": "boolean"}, "truth": {"type": ["boolean", "null"]}, "text": _TEXT,
            "holds": {"type": "array"}, "fails": {"type": "array"},
        },
        "matches", "truth", "holds", "fails", "text",
    ),
    "Destinations": _object({"destinations": _list("Destination"), "next": _TEXT}, "destinations"),
    "DeadLetters": _object(
        {
            "dead_letters": {
                "type": "array",
                "items": _object(
                    {
                        "sequence": _COUNT, "key": _TEXT, "reason": _TEXT, "attempts": _COUNT, "since": _TIME,
                        "cause": {"enum": ["overflow", "refused", "attempts", "set-aside", "expired"]},
                        "status": {"type": ["integer", "null"], "description": "Of the answer, if there was one"},
                        "delivery": {"description": "null once retention has deleted it"},
                    },
                    "sequence", "key", "cause", "delivery",
                ),
            },
            "next": _COUNT,
        },
        "dead_letters",
    ),
    "Event": {"type": "object", "description": "Names and values; nested objects have dotted names in conditions"},
    "Fence": _object(
        {
            "name": {**_TEXT, "readOnly": True},
            "key": {**_TEXT, "description": "The attribute that identifies objects"},
            "time": {**_TEXT, "description": "The attribute with the time"},
            "path": {**_TEXT, "description": "The attribute with the place: lines between places are matched, too"},
            "where": {**_CONDITION, "description": "The events that are followed; by default all with a key"},
            "enter_after": {"type": ["integer", "string"], "default": 1},
            "exit_after": {"type": ["integer", "string"], "default": 1},
            "dwell": {"type": ["number", "string", "null"], "description": "After so many seconds inside: dwell"},
            "inside": {"type": "boolean", "description": "Whether each further event inside is told"},
            "most_objects": {"type": "integer", "minimum": 1},
            "forget_after": {"type": ["number", "string", "null"]},
            "time_unit": {"enum": ["s", "ms", "us", "ns"], "default": "s"},
            "no_places": {"type": "array", "items": {"type": "array", "items": _NUMBER}},
            "accuracy": {**_TEXT, "description": "The attribute with the accuracy of places, in metres"},
            "objects": {**_COUNT, "readOnly": True, "description": "How many objects the fence keeps"},
            "subscriptions": {**_COUNT, "readOnly": True},
        },
        "key", additionalProperties=False,
    ),
    "Fences": _object({"fences": _list("Fence"), "next": _TEXT}, "fences"),
    "Interests": _object({"subscriptions": _list("Interest"), "next": _TEXT}, "subscriptions"),
    "Interest": _object(
        {
            "id": {**_TEXT, "readOnly": True},
            "words": _TEXTS,
            "text": {**_TEXT, "description": "Instead of words: a text, which is split as the window says"},
            "location": _PLACE,
            "k": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 10},
            "alpha": {**_NUMBER, "default": 0.5, "description": "How much the place counts: from 0 to less than 1"},
            "payload": {"description": "Any JSON value; deliveries have it"},
            **_ROUTE,
        },
        "location", additionalProperties=False,
    ),
    "Lines": {"type": "string", "description": "One JSON object a line"},
    "Login": _object({"token": _TEXT}, "token", additionalProperties=False),
    "Matches": _object(
        {
            "matches": {"type": "array", "items": _TOLD},
            "next": {**_TEXT, "description": "There are more matches: go on with this as `after`"},
        },
        "matches",
    ),
    "Message": _object(
        {
            "words": _TEXTS, "text": _TEXT, "location": _PLACE,
            "key": {"type": ["string", "integer"], "description": "The name of the message"},
            "time": {"type": ["number", "string"], "description": "Seconds, or an instant"},
        },
        "location",
    ),
    "Named": _object({"id": _TEXT}, "id"),
    "More": _object(
        {"count": _COUNT, "part": _COUNT, "next": _COUNT, "subscriptions": {"type": "array"}}, "subscriptions"
    ),
    "Problem": _object(
        {
            "type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT, "field": _TEXT,
            "line": _COUNT, "column": _COUNT, "hint": _TEXT, "caret": _TEXT, "request_id": _TEXT,
        },
        "type", "title", "status", "detail",
    ),
    "Published": _object(
        {
            "sequence": _COUNT, "matches": _COUNT, "deliveries": _COUNT, "suppressed": _COUNT, "accepted": _COUNT,
            "rejected": _COUNT, "errors": _ERRORS,
        },
        "sequence", "matches",
    ),
    "Pushed": _object(
        {
            "accepted": _COUNT, "rejected": _COUNT, "changes": _COUNT, "deliveries": _COUNT, "suppressed": _COUNT,
            "errors": _ERRORS,
            "next": {**_COUNT, "description": "The number that the next message gets"},
        },
        "accepted", "rejected", "changes", "deliveries", "next", "errors",
    ),
    "Regions": _object(
        {
            "regions": {
                "type": "array",
                "items": _object(
                    {
                        "id": _ID, "attribute": _TEXT, "operator": _TEXT, "destination": _TEXT,
                        "not": {"type": "boolean", "description": "Whether the condition is about places outside"},
                        "geometry": {"type": "object", "description": "GeoJSON; of a circle, its centre"},
                        "radius_m": {**_NUMBER, "description": "Of a circle, in metres"},
                    },
                    "id", "attribute", "operator", "not", "geometry",
                ),
            },
            "next": _TEXT,
        },
        "regions",
    ),
    "Replay": _object(
        {
            "from": {**_COUNT, "description": "The number of the first delivery that comes again"},
            "since": {**_TIME, "description": "Or the time from which on they were published"},
        },
        additionalProperties=False,
    ),
    "Removed": _object({"removed": _COUNT, "dry_run": {"type": "boolean"}, "unknown": _IDS, "erased": _COUNT}),
    "Report": _object(
        {"accepted": _COUNT, "rejected": _COUNT, "errors": _ERRORS, "sequence": _COUNT, "warnings": _TEXTS},
        "accepted", "rejected", "errors",
    ),
    "Result": _object({"message": _ID, "score": _NUMBER}, "message", "score"),
    "Results": _object({"results": _list("Result")}, "results"),
    "Retried": _object({"sequence": _COUNT}, "sequence"),
    "Rotated": _object({"secret": _TEXT, "secrets": _COUNT, "old_until": _TIME}, "secrets"),
    "Session": _object(
        {
            "tenant": _TEXT, "scopes": _TEXTS, "name": _TEXT,
            "needs_token": {"type": "boolean", "description": "Whether requests need a token here"},
            "token": {**_TEXT, "description": "The id of the token"}, "expires": _TIME,
        },
        "tenant", "scopes", "needs_token",
    ),
    "Status": _object({"status": _TEXT, "sequence": _COUNT, "warning": _TEXT, "check": _CHECK}, "status"),
    "Subscription": _object(
        {
            "id": {**_ID, "readOnly": True},
            "where": _CONDITION,
            "language": _LANGUAGE,
            "score": {**_NUMBER, "default": 1.0},
            "payload": {"description": "Any JSON value; deliveries have it"},
            "weights": {"type": "object", "additionalProperties": _NUMBER},
            "fence": {"type": "string", "description": "Changes of the objects of this fence are delivered instead"},
            **_ROUTE,
            "sequence": {**_COUNT, "readOnly": True},
        },
        "where", additionalProperties=False,
    ),
    "Subscriptions": _object({"subscriptions": _list("Subscription"), "next": _TEXT}, "subscriptions"),
    "Window": _object(
        {
            "name": {**_TEXT, "readOnly": True},
            "size": {"type": "integer", "minimum": 1, "description": "The window is the last so many messages"},
            "time": {**_NUMBER, "description": "The window is the messages of so many seconds"},
            "bounds": {"type": "array", "items": _NUMBER, "minItems": 4, "maxItems": 4},
            "weights": {"type": "object", "additionalProperties": _NUMBER},
            "text": {**_TEXT, "description": "How texts become words"},
            "term_frequency": {"enum": list(TERM_FREQUENCIES), "default": BOOLEAN},
            "messages": {**_COUNT, "readOnly": True, "description": "How many messages the window has"},
            "next": {**_COUNT, "readOnly": True, "description": "The number that the next message gets"},
            "subscriptions": {**_COUNT, "readOnly": True},
        },
        "bounds", additionalProperties=False,
    ),
    "Windows": _object({"windows": _list("Window"), "next": _TEXT}, "windows"),
}  # fmt: skip
