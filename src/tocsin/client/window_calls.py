"""The calls of a window that is served: what is sent, and how its answer is read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from tocsin.client.calls import (
    Ask,
    answer_document,
    json_body,
    many_body,
    no_answer,
    path_part,
    rejects_of,
)
from tocsin.model.subscription import Reject


class Pushed(NamedTuple):
    """What became of messages that were pushed into a window of the service; they are durable.

    Attributes
    ----------
    accepted : int
        How many messages the window took.
    changes, deliveries : int
        How many changes they made in lists, and how many deliveries tell of these.
    following : int
        The number that the next message gets.
    errors : list of Reject
        The messages that were refused, by row.
    """

    accepted: int
    changes: int
    deliveries: int
    following: int
    errors: list[Reject]


def window_path(name: str) -> str:
    return f"/v1/windows/{path_part(name)}"


def _given(record: Mapping[str, Any]) -> dict[str, Any]:
    return {word: value for word, value in record.items() if value is not None}


def _keyed(sent: dict[str, Any], key: str | None) -> dict[str, Any]:
    return {"body": sent["body"], "headers": sent["headers"] | {"Idempotency-Key": key or uuid.uuid4().hex}}


def put_window(name: str, settings: Mapping[str, Any]) -> Ask[dict[str, Any]]:
    return Ask("PUT", window_path(name), answer_document, **json_body(dict(settings)))


def describe(path: str) -> Ask[dict[str, Any]]:
    return Ask("GET", path, answer_document)


def delete(path: str) -> Ask[None]:
    return Ask("DELETE", path, no_answer, may_repeat=False)


def interests_path(name: str) -> str:
    """The path of the subscriptions of a window."""
    return f"{window_path(name)}/subscriptions"


def put_interest(name: str, id: str, **record: Any) -> Ask[None]:
    return Ask("PUT", f"{window_path(name)}/subscriptions/{path_part(id)}", no_answer, **json_body(_given(record)))


def interest(name: str, id: str) -> Ask[dict[str, Any]]:
    return Ask("GET", f"{window_path(name)}/subscriptions/{path_part(id)}", answer_document, id=id)


def drop_interest(name: str, id: str) -> Ask[None]:
    return Ask("DELETE", f"{window_path(name)}/subscriptions/{path_part(id)}", no_answer, id=id, may_repeat=False)


def results(name: str, id: str) -> Ask[list[tuple[Any, float]]]:
    def read(status: int, body: bytes) -> list[tuple[Any, float]]:
        return [(one["message"], one["score"]) for one in json.loads(body)["results"]]

    return Ask("GET", f"{window_path(name)}/results/{path_part(id)}", read, id=id)


def _pushed(status: int, body: bytes) -> Pushed:
    found = json.loads(body)
    return Pushed(
        found["accepted"], found["changes"], found["deliveries"], found["next"], rejects_of(found["errors"])
    )  # fmt: skip


def push(name: str, message: Mapping[str, Any], key: str | None) -> Ask[Pushed]:
    return Ask("POST", f"{window_path(name)}/messages", _pushed, **_keyed(json_body(_given(message)), key))


def push_batch(
    name: str, messages: pa.Table | Iterable[Mapping[str, Any]], key: str | None, *, changes: bool
) -> Ask[Pushed]:
    params = {} if changes else {"changes": "false"}
    return Ask("POST", f"{window_path(name)}/messages", _pushed, params=params, **_keyed(many_body(messages), key))


def advance(name: str, time: float | str, key: str | None) -> Ask[int]:
    return Ask(
        "POST", f"{window_path(name)}/advance", lambda _, body: int(json.loads(body)["changes"]),
        **_keyed(json_body({"time": time}), key),
    )  # fmt: skip


# Fences


def fence_path(name: str) -> str:
    return f"/v1/fences/{path_part(name)}"


def put_fence(name: str, settings: Mapping[str, Any]) -> Ask[dict[str, Any]]:
    return Ask("PUT", fence_path(name), answer_document, **json_body(dict(settings)))
