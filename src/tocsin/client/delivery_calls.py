"""The calls of destinations and their deliveries: what is sent, and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tocsin.client.calls import Ask, answer_document, json_body, matches_of, no_answer, path_part, payload_of
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Match, Omitted, SubscriptionId, payload_in

_PULLED: Final = 100
"""Deliveries in a page; they are acknowledged together."""


class _Change(NamedTuple):
    subscription: SubscriptionId
    change: str
    score: float
    payload: Any
    message: str | int | None = None
    fence: str | None = None
    object: str | int | float | None = None
    seconds: float | None = None


class DeliveredChange(_Change):
    """A change that a subscription of a fence or of a window is told of.

    Attributes
    ----------
    subscription : str or int
        The subscription.
    change : str
        As in `FenceChange`; for windows `enter` or `exit`.
    score : float
        The score of the subscription; for windows that of the message.
    payload : JSON value
        What the subscription carries. Reading it raises `LeftOut` if the delivery was too large for it.
    left_out : tuple of str
        The attributes that the delivery was too large for: `("payload",)`, or none.
    message : str or int or None
        The key or number of the message, for windows.
    fence : str or None
        The fence, and None for windows.
    object : str, int, float or None
        The object, for fences.
    seconds : float or None
        How long the object had been inside.
    """

    __slots__ = ()

    @property
    def payload(self) -> Any:
        """The payload of the subscription. Raises `LeftOut` if the delivery was too large for it."""
        return payload_in(super().payload, self.subscription)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The attributes that the delivery was too large for."""
        return tuple(one.value for one in self if isinstance(one, Omitted))


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event with the subscriptions that it matched, for one destination.

    Attributes
    ----------
    sequence : int
        Its number, dense for each destination, from 1.
    key : str
        The same each time that the delivery comes.
    event : dict
        The event.
    subscriptions : list of Match
        The subscriptions, each with `payload`.
    changes : list of DeliveredChange
        What became of objects of fences, and of messages of windows. Subscriptions that are told of these are not
        in `subscriptions`.
    destination : str
        The destination.
    published : datetime
        When the event was published.
    """

    sequence: int
    key: str
    event: dict[str, Any]
    subscriptions: list[Match]
    changes: list[DeliveredChange]
    destination: str
    published: datetime


class Page(NamedTuple):
    """Deliveries that were pulled; `wanting` are those of which the answer has only the first subscriptions."""

    deliveries: list[Delivery]
    wanting: dict[int, str]  # the path of the next ones, by place


def _changes(found: Iterable[Mapping[str, Any]]) -> list[DeliveredChange]:
    names = DeliveredChange._fields[4:]
    return [
        DeliveredChange(one["id"], one["change"], one["score"], payload_of(one), *map(one.get, names))
        for one in found
        if "change" in one
    ]


# Destinations and deliveries


def _of(destination: str) -> str:
    return f"/v1/destinations/{path_part(destination)}"


def put_destination(name: str, kind: str, settings: Mapping[str, Any] | None) -> Ask[dict[str, Any]]:
    return Ask("PUT", _of(name), answer_document, **json_body({**(settings or {}), "kind": kind}))


def destination(name: str) -> Ask[dict[str, Any]]:
    return Ask("GET", _of(name), answer_document)


def delete_destination(name: str) -> Ask[None]:
    return Ask("DELETE", _of(name), no_answer, may_repeat=False)


def pull(name: str, after: int | None, wait_s: float) -> Ask[Page]:
    params: dict[str, str | int | float] = {"limit": _PULLED, "wait": wait_s}
    if after is not None:
        params["after"] = after

    def read(status: int, body: bytes) -> Page:
        documents = json.loads(body)["deliveries"]
        wanting = {place: one["more"] for place, one in enumerate(documents) if "more" in one}
        return Page(list(map(delivery_of, documents)), wanting)

    return Ask("GET", f"{_of(name)}/deliveries", read, params=params)


def delivery_of(document: Mapping[str, Any]) -> Delivery:
    """A delivery as an object."""
    return Delivery(
        document["sequence"],
        document["key"],
        document["event"],
        matches_of(document["subscriptions"]),
        _changes(document["subscriptions"]),
        document["destination"],
        datetime.fromisoformat(document["published"]).astimezone(UTC),
    )


def more(path: str, number: int | None) -> Ask[tuple[list[Match], list[DeliveredChange], int | None]]:
    """Further subscriptions of a delivery, and the number of the next part."""

    def read(status: int, body: bytes) -> tuple[list[Match], list[DeliveredChange], int | None]:
        found = json.loads(body)
        return matches_of(found["subscriptions"]), _changes(found["subscriptions"]), found.get("next")

    return Ask("GET", path, read, params={} if number is None else {"part": number})


def acknowledge(name: str, sequence: int) -> Ask[None]:
    return Ask("POST", f"{_of(name)}/ack", no_answer, **json_body({"sequence": sequence}))


# Webhooks


def enable(name: str) -> Ask[dict[str, Any]]:
    return Ask("POST", f"{_of(name)}/enable", answer_document)


def rotate_secret(name: str, secret: str | None, keep_s: float | None) -> Ask[str]:
    """Without a secret the service makes another one each time, so that the request is not sent twice."""
    record = {word: value for word, value in (("secret", secret), ("keep_s", keep_s)) if value is not None}

    def read(status: int, body: bytes) -> str:
        return str(json.loads(body).get("secret", secret))

    return Ask("POST", f"{_of(name)}/rotate-secret", read, **json_body(record), may_repeat=secret is not None)


def replay(name: str, first: int | None, since: str | None) -> Ask[int]:
    if (first is None) == (since is None):
        raise InvalidInput("give first, the number of the first delivery that comes again, or since, a time")
    record: dict[str, Any] = {"since": since} if first is None else {"from": first}
    return Ask(
        "POST", f"{_of(name)}/replay", lambda _, body: int(json.loads(body)["acknowledged"]), **json_body(record)
    )


def dead_letters(name: str, after: int | None) -> Ask[dict[str, Any]]:
    return Ask("GET", f"{_of(name)}/dead-letters", answer_document, params={} if after is None else {"after": after})


def attempts(name: str, before: int | None, sequence: int | None, *, failed: bool) -> Ask[dict[str, Any]]:
    params = {word: value for word, value in (("before", before), ("sequence", sequence)) if value is not None}
    return Ask("GET", f"{_of(name)}/attempts", answer_document, params=params | ({"failed": "true"} if failed else {}))


def test(name: str, event: Mapping[str, Any] | None) -> Ask[dict[str, Any]]:
    record = {} if event is None else {"event": event}
    return Ask("POST", f"{_of(name)}/test", answer_document, **json_body(record), may_repeat=False)


def preview(name: str, template: Mapping[str, Any] | None, limit: int | None) -> Ask[list[dict[str, Any]]]:
    record = {word: value for word, value in (("template", template), ("limit", limit)) if value is not None}

    def read(status: int, body: bytes) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(body)["previews"]
        return found

    return Ask("POST", f"{_of(name)}/preview", read, **json_body(record))


def retry(name: str, sequence: int) -> Ask[None]:
    return Ask("POST", f"{_of(name)}/dead-letters/{sequence}/retry", no_answer, may_repeat=False)
