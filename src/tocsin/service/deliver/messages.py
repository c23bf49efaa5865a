"""Messages: deliveries as the documents that all kinds send, tests, and samples for previews."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.service.deliver.protocols import DELIVERY, DIGEST, Message
from tocsin.service.hub import Told
from tocsin.service.times import time_text


def message_of(deliveries: Sequence[Told], destination: str, *, is_digest: bool) -> Message:
    """The message of some deliveries. It is the same each time that the same ones are sent."""
    first, last = deliveries[0], deliveries[-1]
    head = b'{"type":"%s","timestamp":"%s","data":%s}'
    if not is_digest:
        body = head % (b"delivery", time_text(first.published).encode(), first.document)
        return Message(first.key, DELIVERY, first.published, body, destination)
    data = b'{"deliveries":[%s]}' % b",".join(one.document for one in deliveries)
    key = f"{first.key}-{len(deliveries)}-{last.sequence}"
    body = head % (b"digest", time_text(last.published).encode(), data)
    return Message(key, DIGEST, last.published, body, destination)


def message_of_event(
    kind: str, key: str, event: Mapping[str, Any], destination: str, moment: int, subscriptions: Sequence[Any] = ()
) -> Message:
    """A message of one type about an event that was not published, at a moment in milliseconds since 1970."""
    now = time_text(moment)
    delivery = {"sequence": 0, "key": key, "event": event, "subscriptions": subscriptions, "destination": destination}
    document = {"type": kind, "timestamp": now, "data": delivery | {"published": now}}
    return Message(key, kind, moment, json.dumps(document).encode(), destination)
