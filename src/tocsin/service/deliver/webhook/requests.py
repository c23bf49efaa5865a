"""The requests of webhooks, as the OpenAPI document has them."""

from __future__ import annotations

from typing import Any, Final

from tocsin.service.deliver.schedule import TRIES
from tocsin.service.examples import EXAMPLES

_SIGNED: Final = {
    "webhook-id": "The key of the delivery: the same each time that it comes",
    "webhook-timestamp": "When it was sent, in seconds since 1970",
    "webhook-signature": "v1 signatures, one for each secret, with spaces between",
}


def _webhook(summary: str, schema: str, data: Any) -> dict[str, Any]:
    example = {"type": schema.lower() if schema == "Digest" else "delivery", "timestamp": data["published"]}
    body = example | {"data": {"deliveries": [data]} if schema == "Digest" else data}
    answers = {
        "2XX": {"description": "It is done"},
        "410": {"description": "The webhook is disabled"},
        "default": {"description": f"It is tried again, up to {TRIES} times unless max_attempts says otherwise"},
    }
    headers = [
        {"name": name, "in": "header", "required": True, "description": about, "schema": {"type": "string"}}
        for name, about in _SIGNED.items()
    ]
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}, "example": body}}
    return {
        "post": {
            "summary": summary, "tags": ["webhooks"], "parameters": headers,
            "requestBody": {"required": True, "content": content}, "responses": answers,
        }
    }  # fmt: skip


REQUESTS: Final = {
    "delivery": _webhook("A delivery, or a test, that a destination posts", "Posted", EXAMPLES["Delivery"]),
    "digest": _webhook("Deliveries of a destination with digest_s", "Digest", EXAMPLES["Delivery"]),
}
