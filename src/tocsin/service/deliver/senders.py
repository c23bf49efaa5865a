"""The senders of all outlets, and the loop that makes what they found out durable."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tocsin.errors import StoreError
from tocsin.service.clock import Moment
from tocsin.service.deliver.attempts import Attempt, RecordTest, send
from tocsin.service.deliver.kinds import own_options
from tocsin.service.deliver.messages import message_of, message_of_event
from tocsin.service.deliver.options import options_of
from tocsin.service.deliver.protocols import DELIVERY, TEST, Channel, Message, Surroundings
from tocsin.service.deliver.recording import Record
from tocsin.service.deliver.registry import Outlet
from tocsin.service.deliver.resolver import Resolver
from tocsin.service.deliver.sender import Sender
from tocsin.service.deliver.templates.filling import filled_or_plain
from tocsin.service.deliver.templates.renderer import Renderer
from tocsin.service.deliver.verdict import DELIVERED, Verdict
from tocsin.service.directory import Destination
from tocsin.service.problems import conflict

if TYPE_CHECKING:
    from tocsin.service.service import Service

_RECORD_S: Final = 0.2
"""The time between two changes with results."""
_AGAIN_S: Final = 1.0
_GRACE_S: Final = 2.0


class Senders:
    """A task for each outlet. Tests move the `clock`."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.clock = service.clock
        self.resolver = Resolver()
        self.renderer, self.trials = Renderer(), Renderer()  # of deliveries, and of templates that clients try
        self.context: ssl.SSLContext | None = None
        self.grace_s = _GRACE_S
        self._senders: dict[int, tuple[Sender, asyncio.Task[None]]] = {}
        self._dirty: set[Sender] = set()
        self._wanted = asyncio.Event()
        self._recording = asyncio.Lock()
        self._testing: set[int] = set()  # outlets that are being tested
        self._is_running = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send, until the end of the block."""
        self._is_running, self._loop = True, asyncio.get_running_loop()
        recording = asyncio.create_task(self._record())
        for target in self.service.outlets.targets().values():
            self.changed(target)
        try:
            yield
        finally:
            self._is_running = False
            await self._stop(recording)

    async def _stop(self, recording: asyncio.Task[None]) -> None:
        self._wake()
        tasks = [task for _, task in self._senders.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=2 * self.grace_s)
        for task in [*tasks, recording]:
            task.cancel()
        await asyncio.gather(*tasks, recording, return_exceptions=True)
        with suppress(StoreError):  # what is not written comes again
            await self.flush()
        self.resolver.close()
        for renderer in (self.renderer, self.trials):
            renderer.close()

    def changed(self, target: Destination) -> None:
        """An outlet is new, or something of it changed."""
        outlet = self.service.outlets.of(target)
        if outlet is None or not self._is_running:
            return
        if target.number not in self._senders:
            sender = Sender(self, outlet)
            task = asyncio.create_task(sender.run())
            task.add_done_callback(lambda _: self._ended(target))
            self._senders[target.number] = sender, task
        self._senders[target.number][0].woken.set()

    def _ended(self, target: Destination) -> None:
        self._senders.pop(target.number, None)
        if target.number not in self.service.directory.destinations:
            self.service.outlets.known.pop(target.number, None)

    def expected(self) -> Moment:
        """This moment, for times that are stored."""
        return self.clock.expected(self.clock.moment())

    def look(self) -> None:
        """Let all look at the clock, which was moved. Any thread may call it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for sender, _ in self._senders.values():
            sender.woken.set()

    def _now_ms(self) -> int:
        """The time by the clock of this moment, which tests replace."""
        return self.clock.now_ms()

    def channel(self, outlet: Outlet) -> Channel:
        """A new channel to a destination, which uses the resolver of all."""
        options = outlet.target.options
        allow_private = options_of(options).allow_private
        around = Surroundings(self.resolver, self._now_ms, allow_private, self.context)
        return outlet.kind.channel(own_options(options), around)

    async def send(self, channel: Channel, outlet: Outlet, message: Message) -> tuple[Verdict, Attempt]:
        """Send a message, filled by the template; returns the verdict, and the attempt without deliveries."""
        message, failure = await filled_or_plain(self.renderer, outlet, message, self.clock.moment().steady)
        verdict, attempt = await send(channel, outlet.secrets, message, self.clock.now_ms)
        if failure:
            self.service.outlets.plain[outlet.kind.name] += 1
            if verdict.outcome == DELIVERED and not attempt.reason:
                attempt = attempt._replace(reason=failure)
        return verdict, attempt

    async def test(self, outlet: Outlet, event: Mapping[str, Any]) -> Attempt:
        """Send an event to an outlet now, whatever its state is, and record the attempt; raises a `Problem`.

        It has no number, and nothing follows from what the endpoint answers.
        """
        target = outlet.target
        with self.trying(target):
            channel = self.channel(outlet)
            try:
                id = f"test-{secrets.token_hex(12)}"
                message = message_of_event(TEST, id, event, target.id, self.clock.now_ms())
                _, attempt = await self.send(channel, outlet, message)
            finally:
                await channel.close()
        await self.service.commit(RecordTest(self.service.directory, target, attempt))
        return attempt

    @contextmanager
    def trying(self, target: Destination) -> Iterator[None]:
        """Around a test or a preview of a destination. It has one at a time; raises a `Problem`."""
        if target.number in self._testing:
            raise conflict("another test of this destination waits for its answer", headers={"Retry-After": "1"})
        self._testing.add(target.number)
        try:
            yield
        finally:
            self._testing.discard(target.number)

    async def samples(self, outlet: Outlet, most: int) -> list[Message]:
        """The last messages to an outlet, as they would be sent; a sample, if there are none."""
        target = outlet.target
        told = await self.service.hub.after(target, max(target.newest - most, target.earliest - 1), most)
        if not told:
            event, match = {"type": "tocsin.sample"}, {"id": "sample", "score": 1.0, "payload": None}
            return [message_of_event(DELIVERY, "sample", event, target.id, self.clock.now_ms(), [match])]
        if options_of(target.options).digest_ms:
            return [message_of(told, target.id, is_digest=True)]
        return [message_of([one], target.id, is_digest=False) for one in told]

    def has_results(self, sender: Sender) -> None:
        """A sender found something out, which is made durable soon."""
        self._dirty.add(sender)
        self._wanted.set()

    async def _record(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.flush()
            except StoreError:  # a full disk: it is tried again, and senders wait
                await asyncio.sleep(_AGAIN_S)
            await asyncio.sleep(_RECORD_S)

    async def flush(self) -> None:
        """Make durable what the senders found out so far."""
        async with self._recording:
            taken = [(sender, results) for sender in self._dirty if (results := sender.take()) is not None]
            self._dirty.clear()
            if not taken:
                return
            record = Record(self.service.outbox, [results for _, results in taken], self.clock.now_ms())
            try:
                stored = await self.service.commit(record)
            except StoreError:
                for sender, results in taken:
                    sender.give_back(results)
                    self.has_results(sender)
                raise
            self.service.outlets.dead.update(record.dead())
            if stored:
                self.service.hub.told(stored)
            for sender, _ in taken:
                sender.woken.set()
