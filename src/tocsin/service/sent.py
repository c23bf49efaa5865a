"""Schemas of what the service sends by itself: events of streams, the documents that it sends, and the log of these."""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_TIME: Final = {"type": "string", "format": "date-time"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_POSITION: Final = "The id of each event is epoch-number, of each destination, with commas between"
STREAM: Final = "Stream"
SCHEMAS: Final[dict[str, Any]] = {
    STREAM: {
        "type": "string",
        "description": "Server-sent events. `open` comes first, `gap` where deliveries are missing, and events "
        f"without a name are deliveries. {_POSITION}. A comment comes every 15 s.",
        "x-events": {"open": _reference("StreamOpen"), "gap": _reference("StreamGap"),
                     "message": _reference("Delivery")},
    },
    "StreamOpen": _object(
        {"after": {"type": "object", "additionalProperties": _COUNT,
                   "description": "The number before the first delivery, by destination"}}
    ),
    "StreamGap": _object(
        {
            "destination": _TEXT, "from": _COUNT, "to": _COUNT,
            "reason": {"enum": ["expired", "restored", "lost", "new"],
                       "description": "Retention deleted them, the store is a restored backup, a power cut took them "
                       "back, or the destination was not on the stream before"},
        }
    ),
    "Attempt": {
        "type": "object",
        "properties": {
            "number": {**_COUNT, "description": "Its place in the log"},
            "time": {**_TIME, "description": "When it began"},
            "webhook_id": {**_TEXT, "description": "The key of what was sent; of a webhook, the header webhook-id"},
            "sequence": {**_COUNT, "description": "The number of the first delivery; a test has none"},
            "last": {**_COUNT, "description": "That of the last one"},
            "deliveries": {**_COUNT, "description": "How many there were"},
            "attempt": {"type": "integer", "minimum": 1, "description": "1 for the first one"},
            "outcome": {"enum": ["delivered", "failed", "refused", "gone"]},
            "status": {"type": "integer", "description": "The status of the answer, if there was one"},
            "reason": {**_TEXT, "description": "Why it failed; it may quote the endpoint"},
            "duration_ms": _COUNT,
        },
        "required": ["time", "webhook_id", "deliveries", "attempt", "outcome", "duration_ms"],
    },
    "Attempts": {
        "type": "object",
        "properties": {"attempts": {"type": "array", "items": _reference("Attempt")}, "next": _COUNT},
        "required": ["attempts"],
    },
    "Test": {
        "type": "object",
        "properties": {
            "event": {"type": "object", "description": "What is sent; by default one of the type tocsin.test"}
        },
        "additionalProperties": False,
    },
    "Previewed": _object(
        {
            "previews": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": _TEXT,
                        "type": {"enum": ["delivery", "digest"]},
                        "parts": {"type": "object", "description": "The parts of the template as they would be sent"},
                        "error": {**_TEXT, "description": "Why the plain document would be sent instead"},
                    },
                    "required": ["key", "type"],
                },
            }
        }
    ),
    "Posted": _object(
        {"type": {"enum": ["delivery", "test"]}, "timestamp": _TIME,
         "data": _reference("Delivery")}
    ),
    "Digest": _object(
        {"type": {"const": "digest"}, "timestamp": _TIME,
         "data": _object({"deliveries": {"type": "array", "items": _reference("Delivery")}})}
    ),
}  # fmt: skip
STREAM_EXAMPLE: Final = (
    "retry: 2718\n\n"
    'id: 4c1d0e5b7a9f4a3c.1-0\nevent: open\ndata: {"after": {"mobile": 0}}\n\n'
    'id: 4c1d0e5b7a9f4a3c.1-1\ndata: {"sequence":1,"key":"4c1d0e5b7a9f4a3c-1-1","event":{"price":550},'
    '"subscriptions":[],"destination":"mobile","published":"2026-11-26T08:00:00.000Z"}\n\n'
)
