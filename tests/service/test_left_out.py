"""Payloads that a delivery was too large for are never mistaken for absent ones."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import tocsin
from tests.service.served import Served
from tocsin.client.delivery_calls import delivery_of
from tocsin.service import outbox

WHOLE: dict[str, Any] = {"id": "a", "score": 1.0, "payload": {"to": "x"}}
LEFT: dict[str, Any] = {"id": "b", "score": 1.0, "payload": None, "left_out": ["payload"]}
ABSENT: dict[str, Any] = {"id": "c", "score": 1.0, "payload": None}


@pytest.mark.parametrize("more", [{}, {"change": "enter", "fence": "f", "object": "o", "seconds": 0.0}])
def test_reading_a_payload_that_was_left_out_is_an_error(more: dict[str, Any]) -> None:
    """Of matches and of changes, also after a copy; others have theirs, or None."""
    document = {
        "sequence": 1, "key": "k", "event": {}, "destination": "d", "published": "2026-01-31T12:00:00Z",
        "subscriptions": [one | more for one in (WHOLE, LEFT, ABSENT)],
    }  # fmt: skip
    delivery = delivery_of(document)
    for found in (delivery.changes or delivery.subscriptions, pickle.loads(pickle.dumps(delivery.changes or None))):
        if found is None:
            continue
        whole, left, absent = found
        assert (whole.payload, whole.left_out) == ({"to": "x"}, ())
        assert (absent.payload, absent.left_out) == (None, ())
        assert left.left_out == ("payload",) and "None" not in repr(left).split("payload=")[1].split(",")[0]
        for read in (lambda one: one.payload, lambda one: getattr(one, "payload", None)):
            with pytest.raises(tocsin.LeftOut, match="too large for the payload of 'b'"):
                read(left)
        if more:
            with pytest.raises(TypeError):
                json.dumps(left)


def test_a_client_learns_what_a_delivery_left_out(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The subscription has the payload that its delivery has not."""
    monkeypatch.setattr(outbox, "_MOST_BYTES", 100)
    monkeypatch.setattr(outbox, "_MOST_PAYLOADS", 150)
    server.destination()
    payloads = {f"s{number}": "x" * 90 for number in range(3)} | {"s9": None}
    for id, payload in payloads.items():
        server.subscribe(id, "n = 1", destination="d", payload=payload)
    server.publish({"n": 1})
    with tocsin.Client(str(server.client.base_url)) as client:
        delivery = next(iter(client.deliveries("d", wait_s=0)))
        left = [one.subscription for one in delivery.subscriptions if one.left_out]
        assert [one.subscription for one in delivery.subscriptions] == list(payloads) and left == ["s2"]
        assert [one.payload for one in delivery.subscriptions if not one.left_out] == ["x" * 90, "x" * 90, None]
        assert client.get("s2")["payload"] == payloads["s2"]
