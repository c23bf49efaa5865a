"""What publishers hand over: events of one request, with their texts, and what idempotency needs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.values import size_of
from tocsin.records import Chunk, ObjectChunk
from tocsin.service.directory import Route

CHANGE: Final = "change"
NOTICE: Final = "notice"
"""Kinds of events that nobody published: changes of windows, and what the service itself tells."""


class Key(NamedTuple):
    """An idempotency key, and a digest of what came with it."""

    route: str
    key: str
    digest: bytes


def digest_of(body: bytes) -> bytes:
    """The digest that tells whether a key comes again with the same body."""
    return hashlib.blake2b(body, digest_size=16).digest()


@dataclass(slots=True)
class Unit:
    """Events that are published together. E events.

    `key` is that of all of them; `keys` has one an event instead, or None.
    """

    tenant: str
    texts: list[str]  # (E,) JSON without line breaks
    record: Mapping[str, Any] | None = None  # of a single event
    chunk: Chunk | None = None  # of several
    key: Key | None = None
    keys: list[Key | None] | None = None

    def events(self) -> Chunk:
        """The events, to be matched; rows count from 0."""
        if self.chunk is not None:
            return self.chunk
        assert self.record is not None
        return ObjectChunk([(0, self.record)])

    @property
    def bytes(self) -> int:
        """What it holds in memory while it waits."""
        return size_of(*self.texts)


class Throttled(NamedTuple):
    """A match that is delivered unless the subscription was told of another one lately."""

    id: SubscriptionId
    route: Route
    fragment: str


@dataclass(slots=True)
class Event:
    """A matched event, ready to be written."""

    text: str
    moment: int | None = None  # when it was matched, in milliseconds since 1970; None if nothing was
    ids: Sequence[SubscriptionId] = ()  # of the subscriptions that matched
    deliveries: dict[int, list[str]] = field(default_factory=dict)  # JSON objects of subscriptions, by destination
    throttled: list[Throttled] = field(default_factory=list)
    suppressed: int = 0  # matches that are paused or expired
    refused: Reject | None = None  # why it could not be matched at all
    key: Key | None = None
    kind: str = ""  # empty if it was published; what was not, no full outbox refuses

    def copied(self) -> Event:
        """A copy to which deliveries can be added."""
        return replace(self, deliveries={target: list(texts) for target, texts in self.deliveries.items()})

    @property
    def matches(self) -> int:
        """How many subscriptions matched."""
        return len(self.ids)


class Published(NamedTuple):
    """What became of an event: its number, or why it was refused. `is_repeated`: its key came before."""

    sequence: int
    matches: int
    deliveries: int
    suppressed: int
    is_repeated: bool = False

    def document(self) -> dict[str, int]:
        """The answer to its publisher."""
        one = {"sequence": self.sequence, "matches": self.matches, "deliveries": self.deliveries}
        return one | ({"suppressed": self.suppressed} if self.suppressed else {})
