"""The publishing thread: events that come while it works, or while earlier ones are committed, form the next group."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from tocsin.engine.durable.transactions import Transactions
from tocsin.errors import StoreError
from tocsin.service.addressing import Addressing
from tocsin.service.backlog import Backlog, Request
from tocsin.service.outbox import Outbox, Outcome, Publish, Stored
from tocsin.service.problems import Problem
from tocsin.service.units import Unit
from tocsin.store import concerns_store

_MOST_UNITS: Final = 1024
_MOST_BYTES: Final = 4 << 20
"""Of a group, unless a single unit has more."""
_MOST_WAITING: Final = 128 << 20
"""Bytes that wait, before publishers are asked to come later."""
_IN_FLIGHT: Final = 2
"""Groups that are committed or wait for it: one is written while the next is matched."""
_MOST_AT_ONCE: Final = 128
_OVER_S: Final = 1.0
"""So many publishers wait for their answers at once, as a mean over some such time, before further ones are asked to
come later: more events come than can be published, and a queue would only make all of them late. After a slow write
many wait, too, but not for long: the next group takes them all.
"""

Waiting = tuple[Unit, "asyncio.Future[list[Outcome]]"]


def _busy() -> Problem:
    return Problem(429, "busy", "too many events wait; publish them later", headers={"Retry-After": "1"})


class Load:
    """How many publishers wait for their answers; `mean` is the mean of the last seconds."""

    def __init__(self) -> None:
        self._count, self._mean, self._looked_s = 0, 0.0, time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether too many wait, and have waited for a while."""
        self._look()
        return self._count >= _MOST_AT_ONCE and self._mean >= _MOST_AT_ONCE

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one who waits."""
        self._look()
        self._count += 1
        try:
            yield
        finally:
            self._look()
            self._count -= 1

    def _look(self) -> None:
        now = time.monotonic()
        self._mean += (self._count - self._mean) * -math.expm1((self._looked_s - now) / _OVER_S)
        self._looked_s = now


class Publisher:
    """Matches and publishes units. In the event loop `loop`, `told` gets the new deliveries."""

    def __init__(
        self,
        addressing: Addressing,
        outbox: Outbox,
        transactions: Transactions,
        told: Callable[[list[Stored]], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._addressing, self._outbox, self._transactions = addressing, outbox, transactions
        self._told = told
        self._waiting: deque[Waiting] = deque()
        self._halves: deque[list[Waiting]] = deque()  # of groups that could not be written
        self._waiting_bytes = 0
        self._load, self._backlog = Load(), Backlog()
        self._awake = threading.Condition()
        self._slots = threading.Semaphore(_IN_FLIGHT)
        self._is_closed = False
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="tocsin-publish", daemon=True)
        self._thread.start()

    def admitted(self, size: int) -> AbstractContextManager[Request]:
        """A request with a body of some size, until it is answered.

        Raises a `Problem` if it should come later, before its body is read.
        """
        if self._load.is_over or not self._backlog.admits(size):
            raise _busy()
        return self._backlog.request(size)

    async def publish(self, unit: Unit) -> list[Outcome]:
        """Publish a unit; the outcomes of its events come when they and their deliveries are durable."""
        done: asyncio.Future[list[Outcome]] = self._loop.create_future()
        with self._awake:
            if self._is_closed:
                raise Problem(503, "stopping", "the server is stopping", headers={"Retry-After": "1"})
            if self._waiting_bytes > _MOST_WAITING:
                raise _busy()
            self._waiting.append((unit, done))
            self._waiting_bytes += unit.bytes
            self._awake.notify()
        with self._load.one():
            return await done

    def close(self) -> None:
        """Publish what waits, and end the thread. The committing thread answers the rest."""
        with self._awake:
            self._is_closed = True
            self._awake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._slots.acquire()
            with self._awake:
                while not (self._waiting or self._halves or self._is_closed):
                    self._awake.wait()
                group = self._next()
            if not group:
                return
            self._publish(group)

    def _next(self) -> list[Waiting]:
        """The next units to publish together."""
        if self._halves:
            return self._halves.popleft()
        group: list[Waiting] = []
        size = 0
        while self._waiting and len(group) < _MOST_UNITS and (not group or size < _MOST_BYTES):
            group.append(self._waiting.popleft())
            size += group[-1][0].bytes
        self._waiting_bytes -= size
        return group

    def _publish(self, group: list[Waiting]) -> None:
        units = [unit for unit, _ in group]
        try:
            change = Publish(self._outbox, units, self._addressing.matched(units))
            committed = self._transactions.submit(change)
        except Exception as error:  # the caller gets it  # noqa: BLE001
            self._slots.release()
            if len(group) > 1 and not isinstance(error, StoreError):
                for one in group:  # one of them is to blame
                    self._slots.acquire()
                    self._publish([one])
            else:
                self._loop.call_soon_threadsafe(self._failed, group, error)
            return
        committed.add_done_callback(lambda future: self._committed(group, future))

    def _committed(self, group: list[Waiting], future: Future[Any]) -> None:
        """In the committing thread: hand the answers to the event loop."""
        self._slots.release()
        error = future.exception()
        if error is not None and not concerns_store(error) and self._halved(group):
            return
        try:
            if error is not None:
                self._loop.call_soon_threadsafe(self._failed, group, error)
            else:
                self._loop.call_soon_threadsafe(self._answer, group, future.result())
        except RuntimeError:
            """The loop is closed: nobody waits for the answers any more."""

    def _halved(self, group: list[Waiting]) -> bool:
        """Let the halves of a group be published, since one of its units is to blame; false if it has a single one."""
        middle = len(group) // 2
        with self._awake:
            if not middle or self._is_closed:
                return False
            self._halves += (group[:middle], group[middle:])
            self._awake.notify()
        return True

    def _answer(self, group: list[Waiting], result: tuple[list[list[Outcome]], list[Stored]]) -> None:
        outcomes, stored = result
        for (_, done), own in zip(group, outcomes, strict=True):
            if not done.done():
                done.set_result(own)
        if stored:
            self._told(stored)

    def _failed(self, group: list[Waiting], error: BaseException) -> None:
        for _, done in group:
            if not done.done():
                done.set_exception(error)
