"""Examples for the OpenAPI document, by the names of schemas. Those of requests are accepted as they stand."""

from __future__ import annotations

from typing import Any, Final

_TIME: Final = "2026-11-26T08:00:00.000Z"
_KEY: Final = "4c1d0e5b7a9f4a3c-1-1"
_EVENT: Final = {"model": "iphone5s", "price": 550}
_MATCH: Final = {"id": "s1", "score": 1.0, "payload": {"mail": "a@example.org"}}
_DELIVERY: Final = {
    "sequence": 1, "key": _KEY, "event": _EVENT, "subscriptions": [_MATCH], "destination": "mobile", "published": _TIME,
}  # fmt: skip
_WHERE: Final = "model = 'iphone5s' AND price <= 580"
_SUBSCRIPTION: Final = {"where": _WHERE, "score": 1.0, "payload": {"mail": "a@example.org"}, "destination": "mobile"}
_STREAM: Final = {
    "id": "mobile", "kind": "stream", "epoch": "4c1d0e5b7a9f4a3c.1", "newest": 1, "acknowledged": 0, "earliest": 1,
    "subscriptions": 1,
}  # fmt: skip
_INTEREST: Final = {"words": ["seafood"], "location": [2.35, 48.85], "k": 10, "alpha": 0.3, "destination": "mobile"}
_WINDOW: Final = {"size": 100_000, "bounds": [-180, -90, 180, 90]}
_FENCE: Final = {"key": "vehicle", "time": "at", "dwell": 300}
_ATTEMPT: Final = {
    "time": _TIME, "webhook_id": _KEY, "sequence": 1, "last": 1, "deliveries": 1, "attempt": 1, "outcome": "failed",
    "status": 503, "reason": "HTTP 503", "duration_ms": 12, "number": 41,
}  # fmt: skip
_CHANGES: Final = {"changes": 1, "deliveries": 1}
EXAMPLES: Final[dict[str, Any]] = {
    # of requests
    "Acknowledgement": {"sequence": 1},
    "Advance": {"time": 61},
    "CloudEvent": {"specversion": "1.0", "id": "1", "source": "/shop", "type": "offer", "data": _EVENT},
    "Condition": {"where": _WHERE},
    "Destination": {"kind": "stream"},
    "DryRun": {"where": _WHERE, "since_s": 86_400},
    "Event": _EVENT,
    "Explain": {"where": _WHERE, "event": _EVENT},
    "Fence": _FENCE,
    "Interest": _INTEREST,
    "Login": {"token": f"tocsin_{'3f9a61c02b7d'}_{'0' * 64}"},
    "Message": {"words": ["fresh", "seafood"], "location": [2.29, 48.86], "key": "offer-17", "time": 17},
    "Preview": {"template": {"body": "{{ event.model }} for {{ event.price }}"}},
    "Replay": {"from": 1},
    "Rotation": {"keep_s": 3600},
    "Subscription": _SUBSCRIPTION,
    "Test": {"event": _EVENT},
    "Window": _WINDOW,
    # of answers
    "Acknowledged": {"acknowledged": 1, "newest": 1},
    "Activity": {
        "since": _TIME, "subscriptions": 2, "silent": 1, "busiest": [{"id": "s1", "matches": 17, "last": _TIME}],
        "first_silent": ["s2"],
    },
    "Advanced": _CHANGES,
    "Attempt": _ATTEMPT,
    "Attempts": {"attempts": [_ATTEMPT]},
    "Audit": {
        "records": [
            {
                "number": 1, "time": _TIME, "token": "3f9a61c02b7d", "name": "phone", "address": "127.0.0.1",
                "method": "PUT", "path": "/v1/subscriptions/s1", "first": 1, "last": 1,
            }
        ]
    },
    "Changed": {"id": "s1", "sequence": 1},
    "Checked": {"valid": True, "text": _WHERE, "attributes": ["model", "price"], "warnings": []},
    "Clock": {"time": _TIME, "jump_s": 0, "expires": True},
    "ClockConfirmed": {"time": _TIME, "confirmed_s": 86_400},
    "DeadLetters": {
        "dead_letters": [
            {
                "sequence": 1, "key": _KEY, "cause": "attempts", "reason": "HTTP 503", "status": 503, "attempts": 12,
                "since": _TIME, "delivery": _DELIVERY,
            }
        ]
    },
    "Deliveries": {"epoch": "4c1d0e5b7a9f4a3c.1", "earliest": 1, "newest": 1, "acknowledged": 0,
                   "deliveries": [_DELIVERY]},
    "Delivery": _DELIVERY,
    "Previewed": {"previews": [{"key": _KEY, "type": "delivery", "parts": {"body": "iphone5s for 550"}}]},
    "Diagnosis": {
        "id": "s1", "sequence": 4, "state": "paused",
        "changed": {"time": _TIME, "method": "PATCH", "token": "support"}, "since": _TIME, "matches": 17,
        "last_match": _TIME,
        "event": {
            "sequence": 12, "published": _TIME, "matches": 3, "event": _EVENT, "outcome": "paused",
            "reason": "it matches, but the subscription is paused until 2026-12-20T00:00:00.000Z",
            "changed_since": False,
        },
    },
    "Destinations": {"destinations": [_STREAM]},
    "DryRan": {
        "events": 1000, "matches": 1, "whole": True, "unreadable": 0, "from": _TIME, "to": _TIME,
        "histogram": {"width_s": 0.001, "counts": [1]},
        "examples": [{"sequence": 7, "published": _TIME, "event": _EVENT}],
    },
    "Explained": {
        "matches": True, "truth": True, "holds": [{"condition": "price <= 580", "found": "550"}], "fails": [],
        "text": "it matches",
    },
    "Fences": {"fences": [{"name": "vehicles", **_FENCE, "objects": 0, "subscriptions": 0}]},
    "Interests": {"subscriptions": [{"id": "u1", **_INTEREST}]},
    "Matches": {"matches": [_MATCH]},
    "More": {"count": 2000, "part": 1, "subscriptions": [_MATCH]},
    "Named": {"id": "u1"},
    "Published": {"sequence": 1, "matches": 1, "deliveries": 1},
    "Pushed": {"accepted": 1, "rejected": 0, **_CHANGES, "next": 1, "errors": []},
    "Regions": {
        "regions": [
            {
                "id": "s1", "attribute": "location", "operator": "s_within", "not": False, "destination": "mobile",
                "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
            }
        ]
    },
    "Removed": {"removed": 2, "dry_run": False},
    "Report": {"accepted": 2, "rejected": 1, "errors": [{"row": 1, "id": "s2", "field": "where", "reason": "..."}]},
    "Results": {"results": [{"message": "offer-17", "score": 0.794}]},
    "Retried": {"sequence": 1},
    "Rotated": {"secrets": 2, "old_until": _TIME, "secret": "whsec_..."},
    "Session": {"tenant": "acme", "scopes": ["read"], "needs_token": True, "token": "3f9a61c02b7d", "name": "phone"},
    "Status": {"status": "ok"},
    "Subscriptions": {"subscriptions": [{"id": "s1", **_SUBSCRIPTION, "sequence": 1}], "next": "s1"},
    "Windows": {"windows": [{"name": "news", **_WINDOW, "messages": 0, "next": 0, "subscriptions": 0}]},
}  # fmt: skip
EXAMPLES["CloudEvents"] = [EXAMPLES["CloudEvent"]]
OF_ANSWERS: Final[dict[str, Any]] = {
    "Destination": _STREAM,
    "Fence": EXAMPLES["Fences"]["fences"][0],
    "Interest": EXAMPLES["Interests"]["subscriptions"][0],
    "Subscription": EXAMPLES["Subscriptions"]["subscriptions"][0],
    "Window": EXAMPLES["Windows"]["windows"][0],
}
"""Examples of answers that have more than the request."""
LINES: Final = {
    "/v1/subscriptions": {"id": "s1", **_SUBSCRIPTION},
    "/v1/windows/{name}/subscriptions": {"id": "u1", **_INTEREST},
    "/v1/windows/{name}/messages": EXAMPLES["Message"],
}
"""A line of the JSON lines of a call; events for all others."""
