"""The sender of one outlet: reads the outbox after its number, sends, and decides what follows.

It has no queue. The hub wakes it, as it wakes streams, and the cursor tells where it goes on.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from tocsin.service.clock import Moment
from tocsin.service.deliver.kinds import own_options
from tocsin.service.deliver.letters import ATTEMPTS, EXPIRED, REFUSED, SET_ASIDE, Letter, lettered, waiting_letters
from tocsin.service.deliver.messages import message_of
from tocsin.service.deliver.options import AT_ONCE, options_of
from tocsin.service.deliver.position import Batch, Position
from tocsin.service.deliver.protocols import Channel
from tocsin.service.deliver.recording import Results
from tocsin.service.deliver.registry import Outlet
from tocsin.service.deliver.schedule import WELL, Health, delay_ms
from tocsin.service.deliver.verdict import DELIVERED, FAILED, GONE, Verdict
from tocsin.service.deliver.verdict import REFUSED as OF_REFUSAL
from tocsin.service.directory import Destination
from tocsin.service.hub import Told

if TYPE_CHECKING:
    from tocsin.service.deliver.senders import Senders

_LOG: Final = logging.getLogger("tocsin.service")
_IDLE_S: Final = 30.0
_AGAIN_S: Final = 5.0
_PAGE: Final = 50
_MOST_DIGEST: Final = 500
_MOST_DIGEST_BYTES: Final = 1 << 20
_MOST_UNTOLD: Final = 1000
"""Deliveries that are done, and not durable yet: so many come again after a crash."""


class Sender:
    """Sends the deliveries of a destination, until the server stops or the destination is deleted."""

    def __init__(self, senders: Senders, outlet: Outlet) -> None:
        self._senders, self._outlet, self._service = senders, outlet, senders.service
        self.target: Destination = outlet.target
        self.woken = asyncio.Event()
        self._place = Position()
        self._seen = (-1, -1)  # generation and revision that were read
        self._tasks: set[asyncio.Task[None]] = set()
        self._untold: Results | None = None
        self._health = outlet.health
        self._version, self._options = -1, options_of(self.target.options)
        self._channel: Channel | None = None
        self._channel_of: object = None  # what it was made of
        self._next_at, self._resume_at = 0.0, 0  # steady
        self._digest = (0, 0)  # the first delivery of the next request, and when it is due: steady
        self._failures_before = 0  # failures in a row up to the last delivery that was set aside

    async def run(self) -> None:
        """Send, and wait to be woken."""
        hub = self._service.hub
        hub.watch([self.target], self.woken)
        try:
            while not hub.is_stopping and self.target.number in self._service.directory.destinations:
                self.woken.clear()
                try:
                    wait = await self._step()
                    self._note_next_try()
                except Exception:  # it goes on later  # noqa: BLE001
                    _LOG.exception("the sender of %s failed, and goes on in %g s", self.target.id, _AGAIN_S)
                    self._seen, wait = (-1, -1), _AGAIN_S
                await self._wait(wait)
        finally:
            hub.leave([self.target], self.woken)
            await self._end()

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(_IDLE_S if seconds is None else min(seconds, _IDLE_S)):
                await self.woken.wait()
        except TimeoutError:
            if not self._tasks and self._channel is not None and (seconds is None or seconds > _IDLE_S):
                await self._close()

    async def _end(self) -> None:
        """Let requests that are on their way end, for a moment."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._senders.grace_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._close()

    async def _close(self) -> None:
        """Close the connections of the channel, whatever its kind raises."""
        if self._channel is not None:
            try:
                await self._channel.close()
            except Exception:  # it goes on without  # noqa: BLE001
                _LOG.exception("a connection to %s could not be closed", self.target.id)

    async def _step(self) -> float | None:
        """Begin the requests that are due. Returns the seconds until something else is; None: until it is woken."""
        is_stale = self._seen != (self._outlet.generation, self._outlet.revision)
        if is_stale or self._version != self.target.version:
            if self._tasks:  # they end first
                return None
            await self._read_options()
            if is_stale:
                await self._begin()
        while len(self._tasks) < self._options.slots:
            now = self._senders.clock.moment()
            held = self._held_ms(now)
            if held is None or held > 0:
                return None if held is None else held / 1000
            batch = await self._next(now)
            if not isinstance(batch, Batch):
                return batch
            self._depart(batch, now)
        return None

    async def _begin(self) -> None:
        """Read from the database where to go on."""
        await self._senders.flush()
        seen, number = (self._outlet.generation, self._outlet.revision), self.target.number
        statement = "SELECT acknowledged FROM service_destinations WHERE number = ?"
        found, letters = await self._service.readers.read(
            lambda one: (one.execute(statement, (number,)).fetchone(), waiting_letters(one, number))
        )
        if found is not None:
            now = self._senders.expected()
            waiting = {number: letter._replace(due=letter.due_from(now)) for number, letter in letters.items()}
            self._place.begin(found[0], waiting, is_strict=self._options.is_strict)
            self._seen, self._health = seen, self._outlet.health
            self._resume_at, self._digest = 0, (0, 0)

    async def _read_options(self) -> None:
        self._version, options = self.target.version, options_of(self.target.options)
        self._options, self._place.is_strict = options, options.is_strict
        secret = self._outlet.secrets[0].text if self._outlet.secrets else None
        made_of = (own_options(self.target.options), options.allow_private, secret)
        if self._channel is None or made_of != self._channel_of:
            await self._close()
            self._channel, self._channel_of = self._senders.channel(self._outlet), made_of

    def _held_ms(self, now: Moment) -> float | None:
        """How long nothing may be sent; None: until it is woken."""
        is_behind = self._untold is not None and self._untold.done > _MOST_UNTOLD
        if self._health.disabled is not None or is_behind:
            return None
        return max(self._options.paused_until - now.wall, self._resume_at - now.steady, self._next_at - now.steady, 0)

    def _note_next_try(self) -> None:
        """Tell when what failed is sent again, unless it is on its way or the destination is disabled."""
        now, letter = self._senders.clock.moment(), self._place.due()
        held = self._held_ms(now)
        if letter is None or held is None:
            self._outlet.next_try = None
        else:
            self._outlet.next_try = now.wall + int(max(letter[1].due - now.steady, held))

    # What comes next

    async def _next(self, now: Moment) -> Batch | float | None:
        """The next deliveries to send, or the seconds until there are some."""
        letter = self._place.due()
        if letter is not None and letter[1].due <= now.steady:
            return await self._again(*letter)
        if letter is not None and self._options.is_strict:
            return (letter[1].due - now.steady) / 1000
        batch = await self._fresh(now)
        if batch is None and letter is not None:
            return (letter[1].due - now.steady) / 1000
        return batch

    async def _again(self, first: int, letter: Letter) -> Batch | float:
        """The deliveries of a letter, and of those that failed with it."""
        numbers = [first]
        if self._options.digest_ms:
            same = (number for number, other in self._place.letters.items() if other.due == letter.due)
            numbers = sorted(number for number in same if number not in self._place.flying)[:_MOST_DIGEST]
        found = []
        for number in numbers:
            found += [
                one for one in await self._service.hub.after(self.target, number - 1, 1) if one.sequence == number
            ]
        for number in set(numbers).difference(one.sequence for one in found):
            self._tell(number, letter._replace(dead=EXPIRED, due=0, since=self._senders.expected().wall))
        return Batch(found, letter.attempts, letter.refusals) if found else 0.0

    async def _fresh(self, now: Moment) -> Batch | float | None:
        """The next deliveries of the outbox."""
        most = _MOST_DIGEST if self._options.digest_ms else 1
        page = self._place.page
        while not self._is_full(most) and self._place.read < self.target.newest:
            if not await self._read(max(_PAGE, most)):
                break
        if not page:
            self._tell_cursor()
            return None
        if (due := self._digest_due(page[0], now)) > now.steady and not self._is_full(most):
            return (due - now.steady) / 1000
        return Batch(self._taken(most))

    def _digest_due(self, first: Told, now: Moment) -> int:
        """When a digest is sent that begins with a delivery, by the steady clock."""
        if self._digest[0] != first.sequence:
            delay = self._options.digest_ms
            self._digest = first.sequence, now.due(first.published + delay, delay)
        return self._digest[1]

    def _is_full(self, most: int) -> bool:
        """Whether what was read is enough for a request."""
        page = self._place.page
        return len(page) >= most or sum(len(one.document) for one in page) >= _MOST_DIGEST_BYTES

    async def _read(self, most: int) -> bool:
        """Read the next page of the outbox; returns whether there was one."""
        found = await self._service.hub.after(self.target, self._place.read, most)
        if not found:
            expired = self.target.earliest - 1
            is_some = expired > self._place.read
            self._place.keep([], (), expired)
            return is_some
        first, last, known = found[0].sequence, found[-1].sequence, set[int]()
        if first <= self._outlet.letters_to:
            known = await self._service.readers.read(lambda one: lettered(one, self.target.number, first, last))
        self._place.keep(found, known, last)
        return True

    def _taken(self, most: int) -> list[Told]:
        page, taken, size = self._place.page, list[Told](), 0
        while page and len(taken) < most and (not taken or size + len(page[0].document) <= _MOST_DIGEST_BYTES):
            taken.append(page.popleft())
            size += len(taken[-1].document)
        return taken

    # Requests

    def _depart(self, batch: Batch, now: Moment) -> None:
        self._place.depart(batch, is_letter=bool(batch.attempts) or batch.numbers[0] in self._place.letters)
        self._next_at = max(now.steady, self._next_at) + self._options.gap_ms
        task = asyncio.create_task(self._send(batch))
        self._tasks.add(task)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.woken.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("the sender of %s failed with a message", self.target.id, exc_info=error)
            self._seen = (-1, -1)

    async def _send(self, batch: Batch) -> None:
        assert self._channel is not None
        message = message_of(batch.deliveries, self.target.id, is_digest=self._options.digest_ms > 0)
        verdict, attempt = await self._senders.send(self._channel, self._outlet, message)
        numbers = batch.numbers
        self._results().add(
            attempt._replace(sequence=numbers[0], last=numbers[-1], deliveries=len(numbers), attempt=batch.attempts + 1)
        )
        self._settle(batch, verdict)

    def _settle(self, batch: Batch, verdict: Verdict) -> None:
        """Decide what follows from a verdict."""
        now, numbers = self._senders.expected(), batch.numbers
        self._service.outlets.attempts[self.target.kind, verdict.outcome] += 1
        self._place.arrive(numbers)
        if verdict.outcome == DELIVERED:
            health, self._failures_before = WELL, 0
            for one in batch.deliveries:
                self._tell(one.sequence, None, one)
        else:
            health = self._health.failed(now.wall, verdict.reason)
            if verdict.outcome == GONE:
                health = self._health.gone(now.wall, verdict.reason)
            letter = self._letter(batch, verdict, now.wall)
            if letter.dead == SET_ASIDE:  # the next one is not slowed by what this one failed
                self._failures_before = health.failures
            for one in batch.deliveries:
                self._tell(one.sequence, letter._replace(event=one.event), one, letter.due_from(now))
            if not self._options.is_strict and verdict.outcome != GONE:
                self._hold(now.steady, health.failures, verdict.asked_ms)
        self._tell_health(health)
        self._tell_cursor()

    def _hold(self, now: int, failures: int, asked: int) -> None:
        """Pause an endpoint with `order: any` that asks for it, or fails all that it gets."""
        pause = delay_ms(failures // AT_ONCE) if failures >= AT_ONCE else 0
        self._resume_at = max(self._resume_at, now + max(asked, pause))

    def _letter(self, batch: Batch, verdict: Verdict, now: int) -> Letter:
        """The letter of deliveries that failed."""
        attempts, refusals = batch.attempts + 1, batch.refusals + verdict.is_refusal
        dead, due = "", now
        if verdict.outcome == GONE:  # it stays in the outbox
            attempts, refusals = batch.attempts, batch.refusals
        elif attempts >= self._options.max_attempts:
            dead = REFUSED if verdict.outcome == OF_REFUSAL else ATTEMPTS
        elif self._options.is_strict and refusals >= self._options.set_aside_after:
            dead = SET_ASIDE
        else:
            is_endpoint = self._options.is_strict and verdict.outcome == FAILED
            failures = self._health.failures + 1 - self._failures_before if is_endpoint else 0
            due += max(delay_ms(max(attempts, failures)), verdict.asked_ms)
        return Letter(0, dead, attempts, due, verdict.reason, verdict.status, now, refusals)

    # What is made durable

    def _results(self) -> Results:
        if self._untold is None:
            self._untold = Results(self._outlet, self._seen[0], self._place.cursor)
            self._senders.has_results(self)
        return self._untold

    def _tell(self, number: int, letter: Letter | None, delivery: Told | None = None, due: int = 0) -> None:
        """A delivery is done, or has a letter, which is tried again when it is `due` by the steady clock."""
        results = self._results()
        if letter is not None and not letter.dead:
            results.letters[number] = letter
            self._place.letters[number] = letter._replace(due=due)
            return
        had_letter = self._place.settle(number)
        if letter is not None or had_letter:
            results.letters[number] = letter
        results.done += 1
        if delivery is not None:  # retention counts those that it deleted
            results.done_bytes += delivery.size
            if delivery.further:
                results.divided.append(number)

    def _tell_health(self, health: Health) -> None:
        if health != self._health:
            if health.disabled is not None and self._health.disabled is None:
                _LOG.warning("the %s %s is disabled: %s", self.target.kind, self.target.id, health.reason)
                self._service.outlets.disabled[self.target.kind] += 1
            self._health = self._results().health = health

    def _tell_cursor(self) -> None:
        before, cursor = self._place.cursor, self._place.advance()
        is_idle = cursor >= self.target.newest and not self._place.letters
        if cursor > before or (is_idle and self._outlet.waiting and self._untold is None):
            results = self._results()
            results.cursor, results.is_idle = cursor, is_idle and bool(self._outlet.waiting > results.done)

    def take(self) -> Results | None:
        """What is to be made durable."""
        results, self._untold = self._untold, None
        return results

    def give_back(self, results: Results) -> None:
        """Keep results that could not be made durable."""
        self._untold = results if self._untold is None else results.then(self._untold)
