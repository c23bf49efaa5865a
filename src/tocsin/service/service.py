"""The parts of a running service, opened and closed as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.durable.transactions import Transactions
from tocsin.errors import StoreError
from tocsin.service.addressing import Addressing
from tocsin.service.bodies import Room
from tocsin.service.clock import Clock
from tocsin.service.deliver.encryption import EncryptSecrets, Keys
from tocsin.service.deliver.registry import Outlets
from tocsin.service.deliver.senders import Senders
from tocsin.service.directory import BeginHistory, Destination, Directory, read_directory
from tocsin.service.fences.hosted import HostedFences
from tocsin.service.hub import Hub
from tocsin.service.limits import Limits
from tocsin.service.matching import Matcher
from tocsin.service.metrics import Metrics
from tocsin.service.outbox import Outbox, Stored
from tocsin.service.principals import Principal
from tocsin.service.problems import is_full, unknown
from tocsin.service.publishing import Publisher
from tocsin.service.quotas import Quotas
from tocsin.service.readers import Readers
from tocsin.service.readiness import Readiness
from tocsin.service.tables import Prepare
from tocsin.service.windows.hosted import Hosting
from tocsin.service.windows.registry import Windows
from tocsin.store import Change

Result = TypeVar("Result")
_THREADS: Final = 16
"""Threads for parsing: conditions and bulks."""


class Service:
    """A durable engine with publishing, deliveries and streams, served by an event loop (default: the running one)."""

    def __init__(
        self,
        engine: DurableEngine,
        limits: Limits,
        loop: asyncio.AbstractEventLoop | None = None,
        sync: str = "full",
        clock: Clock | None = None,
        keys: Keys = Keys(),  # noqa: B008
    ) -> None:
        self.engine, self.limits, self.clock = engine, limits, clock or Clock()
        self.clock_returns = self.clock.returns  # as retention has seen them
        self.quotas = Quotas(limits, engine)
        self.room, self.answer_room = Room(limits.bodies_bytes), Room(limits.answers_bytes, of_answers=True)
        self.transactions = Transactions(engine)
        self.transactions.submit(Prepare()).result()
        identity = self.transactions.identity
        now = self.clock.expected(self.clock.moment())
        self.directory: Directory = self.transactions.read(
            lambda database: read_directory(database.connection, identity, now)
        )
        self.outlets = Outlets(self.directory, limits.outbox, limits.outbox_bytes, keys)
        try:
            self.transactions.read(lambda database: self.outlets.read(database.connection, self.clock.now_ms()))
        except StoreError as error:
            raise StoreError(f"{engine.folder} cannot be served: {error}") from None
        if keys:
            self.transactions.submit(EncryptSecrets(keys)).result()
        self.transactions.submit(BeginHistory(self.directory)).result()
        self.readers = Readers(engine.folder)
        self.hub = Hub(self.directory, self.readers)
        self.fences = HostedFences(self.directory, self.transactions.read(lambda database: database.texts))
        self.transactions.read(self.fences.read)
        self.outbox = Outbox(self.directory, self.outlets, self.fences, self.clock)
        addressing = Addressing(engine, self.directory, self.clock)
        addressing.prepare()
        loop = asyncio.get_running_loop() if loop is None else loop
        self.windows = Windows(engine.folder, self._hosting(loop, sync), limits.window_bytes)
        self.windows.open_all(self.transactions.read(lambda database: self.windows.read(database.connection)))
        self.quotas.others = lambda: self.windows.subscriptions
        self.quotas.others_bytes = lambda: self.windows.payload_bytes
        self.publisher = Publisher(addressing, self.outbox, self.transactions, self.hub.told, loop)
        self.matcher = Matcher(engine)
        self.in_progress: set[tuple[str, str, str]] = set()  # idempotency keys
        self.streams = 0  # that are open
        self.polls = 0  # pulls that wait
        self.readiness = Readiness(self)
        self.metrics = Metrics(self)
        self.senders = Senders(self)
        self._threads = ThreadPoolExecutor(_THREADS, "tocsin-parse")

    def _hosting(self, loop: asyncio.AbstractEventLoop, sync: str) -> Hosting:
        def told(stored: list[Stored]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self.hub.told, stored)

        submit, read = self.transactions.submit, self.transactions.read
        return Hosting(
            self.outbox, submit, read, told, sync, lambda: self.limits.window_messages, self.clock, lambda *_: None
        )

    def limit(self, limits: Limits) -> None:
        """Use other limits from now on. What is beyond them stays; nothing more is taken."""
        self.limits = limits
        self.quotas.limit(limits)
        self.room.most, self.answer_room.most = limits.bodies_bytes, limits.answers_bytes
        self.outlets.most, self.outlets.most_bytes = limits.outbox, limits.outbox_bytes
        self.windows.most_bytes = limits.window_bytes

    async def in_thread(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """The result of a call that may take long."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def commit(self, change: Change) -> Any:
        """Make a change durable; returns what its `apply` returns."""
        submitted: Future[Any] = self.transactions.submit(change)
        return await asyncio.wrap_future(submitted)

    def is_disk_full(self) -> bool:
        """Whether a full disk refused the last change of the store, or of a window's."""
        stores = (self.transactions.progress(), *(window.progress() for window in self.windows))
        return any(is_full(store.error) for store in stores)

    def destination(self, principal: Principal, id: str) -> Destination:
        """A destination of the principal's tenant; raises a `Problem`."""
        found = self.directory.named.get((principal.tenant, id))
        if found is None:
            raise unknown("destination", id)
        return found

    def close(self) -> None:
        """Publish what waits, and end the threads. The engine stays open."""
        self.publisher.close()
        self.windows.close()
        self.matcher.close()
        self._threads.shutdown()
        self.readers.close()
