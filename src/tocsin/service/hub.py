"""Waiting for new deliveries, and the last deliveries of each destination that somebody waits for.

Everything here runs in the event loop. Nothing is queued for a client: it is woken, and reads after its own number.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from tocsin.client.calls import path_part
from tocsin.service.bodies import SMALL, Holding
from tocsin.service.directory import Destination, Directory
from tocsin.service.outbox import Stored
from tocsin.service.readers import Readers, deliveries
from tocsin.service.times import time_text

_TAIL: Final = 500
_TAIL_BYTES: Final = 1 << 20
AT_ONCE: Final = 500
"""Rows that a stream reads at once."""
_READ_BYTES: Final = 1 << 20
"""Bytes that a stream reads at once, if it does not read a single delivery that is larger."""


class Waiter(Protocol):
    """Somebody who waits for deliveries: an `asyncio.Event`, or a stream. It does not leave while it is set."""

    def set(self) -> object:
        """Note that there may be new ones, or none any more."""


class Told(NamedTuple):
    """A delivery, ready to be sent."""

    sequence: int
    document: bytes
    published: int
    event: int
    key: str
    frame: bytes  # the document on a stream of this destination alone
    size: int  # characters of the event and of the first part, as an outbox counts them
    further: int  # further parts, which are not in the document


class Watch:
    """The last deliveries of a destination, from the moment when somebody began to wait for them."""

    __slots__ = ("_bytes", "begins", "tail", "waiting")

    def __init__(self, newest: int) -> None:
        self.tail: deque[Told] = deque()
        self.begins = newest + 1  # the first number in the tail
        self.waiting: set[Waiter] = set()
        self._bytes = 0

    def add(self, one: Told) -> None:
        """Keep a delivery, and forget the oldest."""
        self.tail.append(one)
        self._bytes += len(one.document)
        while len(self.tail) > _TAIL or self._bytes > _TAIL_BYTES:
            self._bytes -= len(self.tail.popleft().document)
            self.begins += 1

    @property
    def ends(self) -> int:
        """The number after the last delivery."""
        return self.begins + len(self.tail)

    def clear(self, begins: int) -> None:
        """Begin anew, with a number."""
        self.tail.clear()
        self.begins, self._bytes = begins, 0

    def after(self, number: int, limit: int) -> list[Told] | None:
        """The first deliveries after a number; None if the tail does not reach back so far."""
        skipped = number + 1 - self.begins
        if skipped < 0:
            return None
        if skipped == len(self.tail) - 1:  # as for almost all that wait
            return [self.tail[-1]]
        return [self.tail[place] for place in range(skipped, min(len(self.tail), skipped + limit))]


class Hub:
    """Wakes those who wait, and reads for them."""

    def __init__(self, directory: Directory, readers: Readers) -> None:
        self._directory, self._readers = directory, readers
        self._watches: dict[int, Watch] = {}
        self.is_stopping = False

    def told(self, stored: Iterable[Stored]) -> None:
        """New deliveries, by number. Of very many the tail keeps the last, and the database has the others."""
        new: dict[int, list[Stored]] = {}
        for one in stored:
            if one.destination in self._watches:
                new.setdefault(one.destination, []).append(one)
        for number, own in new.items():
            watch = self._watches[number]
            fresh = [one for one in own if one.sequence >= watch.ends]
            fresh = fresh[-_TAIL:]
            if fresh and fresh[0].sequence > watch.ends:  # some come later, or not at all: the database has them
                watch.clear(fresh[0].sequence)
            for one in fresh:
                watch.add(self.document(one))
            for waiter in watch.waiting:
                waiter.set()

    def watch(self, destinations: Sequence[Destination], waiter: Waiter) -> None:
        """Set `waiter` from now on, when one of these destinations has a new delivery."""
        for one in destinations:
            watch = self._watches.get(one.number)
            if watch is None:
                watch = self._watches[one.number] = Watch(one.newest)
            watch.waiting.add(waiter)

    def leave(self, destinations: Sequence[Destination], waiter: Waiter) -> None:
        """Stop watching."""
        for one in destinations:
            watch = self._watches.get(one.number)
            if watch is not None:
                watch.waiting.discard(waiter)
                if not watch.waiting:
                    del self._watches[one.number]

    def forget(self) -> None:
        """Drop all deliveries in memory, which are not those of the database any more."""
        for watch in self._watches.values():
            watch.clear(watch.ends)

    def deleted(self, destination: Destination) -> None:
        """Wake those who wait for a destination that is not there any more."""
        watch = self._watches.get(destination.number)
        for waiter in () if watch is None else watch.waiting:
            waiter.set()

    def stop(self) -> None:
        """Wake everybody, to end."""
        self.is_stopping = True
        for watch in self._watches.values():
            for waiter in watch.waiting:
                waiter.set()

    async def within(self, holding: Holding, destination: Destination, number: int) -> list[Told]:
        """The deliveries after a number for a stream. They take room unless they are small; raises a `Problem`."""
        found = self.recent(destination, number)
        if found is not None and frames_size(found) <= SMALL:
            return found
        size = _READ_BYTES
        while True:
            found = None  # nothing is in memory while it waits for room
            await holding.take(size)
            found = await self.after(destination, number, size_limit=_READ_BYTES)
            if (read := frames_size(found)) <= size:
                holding.shrink(read if read > SMALL else 0)
                return found
            holding.release()
            size = read

    async def after(
        self, destination: Destination, number: int, limit: int = AT_ONCE, size_limit: int | None = None
    ) -> list[Told]:
        """The deliveries after a number that are kept: from the tail, or from the database."""
        if number >= destination.newest:
            return []
        recent = self.recent(destination, number, limit)
        if recent is not None:
            return recent
        found = await self._readers.read(lambda one: deliveries(one, destination.number, number, limit, size_limit))
        return [self.document(one) for one in found]

    def recent(self, destination: Destination, number: int, limit: int = AT_ONCE) -> list[Told] | None:
        """The deliveries after a number, from the tail; None if it does not reach back so far."""
        watch = self._watches.get(destination.number)
        return None if watch is None else watch.after(number, limit)

    def document(self, one: Stored) -> Told:
        """A delivery as it is sent."""
        target = self._directory.destinations.get(one.destination)
        name = "" if target is None else target.id
        key = self._directory.key(one.event, one.destination)
        parts = [
            f'{{"sequence":{one.sequence},"key":"{key}","event":{one.text},',
            f'"subscriptions":{one.subscriptions},"destination":{json.dumps(name, ensure_ascii=False)},',
            f'"published":"{time_text(one.published)}"',
        ]
        if one.further:
            link = f"/v1/destinations/{path_part(name)}/deliveries/{one.sequence}/subscriptions?part=1"
            parts.append(f',"more":{json.dumps(link)},"count":{one.subscribed}')
        document = ("".join(parts) + "}").encode()
        epoch = "" if target is None else self._directory.epoch(target)
        place = f"{epoch}-{one.sequence}".encode()
        size = len(one.text) + len(one.subscriptions)
        return Told(one.sequence, document, one.published, one.event, key, frame(place, document), size, one.further)


def frames_size(deliveries: Iterable[Told]) -> int:
    """The bytes of deliveries on a stream."""
    return sum(len(one.frame) for one in deliveries)


def frame(id: bytes, document: bytes) -> bytes:
    """A delivery as a server-sent event."""
    return b"id: %s\ndata: %s\n\n" % (id, document)
