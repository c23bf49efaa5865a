"""A server with the window "news", and what tests do with it."""

from __future__ import annotations

from typing import Any, Final

from tests.service.served import Served

BOUNDS: Final = (0.0, 0.0, 8.0, 4.0)
PATH: Final = "/v1/windows/news"
LINES: Final = {"Content-Type": "application/x-ndjson"}


def interest(server: Served, id: str = "u1", **more: Any) -> Any:
    record = {"words": ["seafood"], "location": [2, 2], "k": 2, "alpha": 0, "destination": "d", **more}
    return server.client.put(f"{PATH}/subscriptions/{id}", json=record)


def push(server: Served, *words: str, path: str = PATH, headers: Any = None, **more: Any) -> Any:
    message = {"words": list(words), "location": [2, 2], **more}
    return server.client.post(f"{path}/messages", json=message, headers=headers)


def results(server: Served, id: str = "u1") -> Any:
    return [tuple(one.values()) for one in server.client.get(f"{PATH}/results/{id}").json()["results"]]


def told(delivery: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The changes of a delivery."""
    return [(one["id"], one["message"], one["change"], one["score"]) for one in delivery["subscriptions"]]
