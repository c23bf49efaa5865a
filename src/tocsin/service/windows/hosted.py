"""A window that is served. Its changes are made on a thread of its own, one after the other."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.client.calls import path_part
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.records import ObjectChunk
from tocsin.service.audit import Sender
from tocsin.service.clock import Clock, Moment
from tocsin.service.outbox import Stored
from tocsin.service.problems import Problem, invalid, printable, undelivered
from tocsin.service.readers import Readers
from tocsin.service.throttles import put_told
from tocsin.service.units import Key, Unit
from tocsin.service.windows import batches, interests
from tocsin.service.windows.batches import Batch, HandOver
from tocsin.service.windows.interests import Changed, Interest
from tocsin.store import Change, Database, Progress
from tocsin.window import Window
from tocsin.window.durable import probe_store, progress_of, together
from tocsin.window.reading import DEFAULT_K

SUBSCRIPTIONS, MESSAGES = "subscriptions", "messages"
_MOST_TOGETHER: Final = 256
"""Requests whose messages share a transaction."""
_MOST_AHEAD_S: Final = 366 * 86_400
"""How far a message, or a request, may let time pass at once."""
_MOST_TIME: Final = 64
_ANSWER: Final = "SELECT digest, answer FROM service_answers WHERE tenant = '' AND route = ? AND key = ?"


class Asked(NamedTuple):
    """Messages to be pushed, and whether their changes are told."""

    unit: Unit
    is_told: bool
    done: Future[dict[str, Any]]


class Hosting(NamedTuple):
    """What windows need of the service. `told` gets new deliveries, on any thread."""

    outbox: Any
    submit: Callable[[Change], Future[Any]]
    read: Callable[[Callable[[Any], Any]], Any]
    told: Callable[[list[Stored]], None]
    sync: str
    most_messages: Callable[[], float]
    clock: Clock
    require_memory: Callable[[str, int], None]  # raises a `Problem` if windows have no room for so many more bytes


class Subscribed(NamedTuple):
    """What became of subscriptions: how many were accepted, how many of them are new, and the rejects by row."""

    accepted: int
    new: int
    rejects: list[Reject]


class Hosted:
    """A durable window, the interests of its subscriptions, and the batches that are not handed over yet."""

    def __init__(self, number: int, name: str, handed: int, folder: Path, options: Mapping[str, Any], host: Hosting):
        self.number, self.name, self._host = number, name, host
        self.window = Window.open(folder, **options, sync=host.sync)
        self.readers = Readers(folder)
        try:
            with together(self.window) as beside:
                beside += [batches.prepare, interests.prepare]
            with closing(Database.open(folder, read_only=True)) as database, database.one_state():
                self.interests = interests.read(database.connection, host.clock.expected(host.clock.moment()))
                waiting = batches.read(database.connection)
        except BaseException:
            self.close()
            raise
        self._handed = handed
        self._waiting = deque((at, batch) for at, batch in waiting if at > handed)
        self._next = max(handed, waiting[-1][0] if waiting else 0) + 1
        self.counts = Counter[str]()
        self.bytes: Mapping[str, int] = {}  # in memory: of subscriptions, and of messages
        self._measure()
        self._asked = deque[Asked]()
        self._thread = ThreadPoolExecutor(1, "tocsin-window")
        if self._waiting:
            self._thread.submit(self._hand_over)

    # Called in any thread

    def push(self, unit: Unit, *, is_told: bool = True) -> Future[dict[str, Any]]:
        """Push messages; the answer comes when they, and the deliveries of their changes, are durable."""
        done: Future[dict[str, Any]] = Future()
        done.set_running_or_notify_cancel()
        self._asked.append(Asked(unit, is_told, done))
        self._thread.submit(self._push_asked)
        return done

    def subscribe(
        self, records: Mapping[int, tuple[Mapping[str, Any], Interest]], sender: Sender
    ) -> Future[Subscribed]:
        """Add or replace subscriptions, by row, in one transaction."""
        return self._thread.submit(self._subscribe, records, sender)

    def unsubscribe(self, id: SubscriptionId, sender: Sender) -> Future[None]:
        """Remove a subscription."""
        return self._thread.submit(self._unsubscribe, {id: sender})

    def expire(self, ids: Sequence[SubscriptionId], now: int) -> Future[int]:
        """Remove those of some subscriptions that have expired by a time; the answer says how many."""
        return self._thread.submit(self._expire, ids, now)

    def advance(self, moment: Any, key: Key | None) -> Future[dict[str, Any]]:
        """Let time pass without a message."""
        return self._thread.submit(self._advance, moment, key)

    def hand_over(self) -> Future[Any]:
        """Hand over what an error left."""
        return self._thread.submit(self._hand_over)

    def progress(self) -> Progress:
        """The state of the thread that writes the window."""
        return progress_of(self.window)

    def probe(self) -> Future[None]:
        """Write something, which shows whether the disk takes changes."""
        return self._thread.submit(self._probe)

    @property
    def is_behind(self) -> bool:
        """Whether changes are not handed over yet."""
        return bool(self._waiting)

    def close(self) -> None:
        """End the thread once it has done what was asked, and close the store."""
        if hasattr(self, "_thread"):
            self._thread.shutdown()
        self.readers.close()
        self.window.close()

    # On the thread of the window

    def _push_asked(self) -> None:
        """Push what came meanwhile, in one transaction if nothing of it fails."""
        asked = [self._asked.popleft() for _ in range(min(len(self._asked), _MOST_TOGETHER))]
        if not asked:
            return
        try:
            self._push_all(asked)
        except Exception as error:  # the callers get it  # noqa: BLE001
            left = [one for one in asked if not one.done.done()]
            if len(asked) > 1:
                for one in left:  # one of them is to blame
                    self._asked.appendleft(one)
                    self._push_asked()
            elif left:
                left[0].done.set_exception(error)

    def _push_all(self, asked: Sequence[Asked]) -> None:
        self._begin()
        new = [one for one in asked if self._is_new(one)]
        told: dict[SubscriptionId, Moment] = {}
        with together(self.window) as beside:
            made = []
            for one in new:
                self._bound_times()
                made.append(self._pushed(one, told))
            numbered = self._numbered(made, beside, told)
        self._measure()
        self._waiting += numbered
        self.interests.were_told(told)
        reports = {id(batch): batch.report for batch in made if batch.is_empty}
        error = self._try_to_hand_over(reports)
        for batch, one in zip(made, new, strict=True):
            if (report := reports.get(id(batch))) is not None:
                one.done.set_result(report)
            else:
                assert error is not None  # the window has the messages, so that nobody may push them again
                stored, has_key = len(one.unit.texts), one.unit.key is not None
                one.done.set_exception(undelivered(error, "the window has the request", has_key=has_key, stored=stored))

    def _is_new(self, asked: Asked) -> bool:
        """Whether messages are to be pushed. They are not if they came before, or if there is no room."""
        most, key = self._host.most_messages(), asked.unit.key
        try:
            before = None if key is None else self._answered(key)
            if before is None and self.window.size is None and self.window.held >= most:
                detail = f"the window has {self.window.held:,} messages, and {most:,g} are allowed; push them later"
                raise Problem(429, "quota", detail, headers={"Retry-After": "60"}, limit="window_messages")
            if before is None:
                self._host.require_memory(MESSAGES, asked.unit.bytes)
        except Problem as problem:
            asked.done.set_exception(problem)
            return False
        if before is not None:
            asked.done.set_result({**before, "is_repeated": True})
        return before is None

    def _answered(self, key: Key) -> dict[str, Any] | None:
        """The answer to a request that came before with the same key."""
        found = self._host.read(lambda one: one.connection.execute(_ANSWER, (key.route, key.key)).fetchone())
        if found is None:
            return None
        if found[0] != key.digest:
            raise invalid("the idempotency key came before with another body; use a new key", field="Idempotency-Key")
        answer: dict[str, Any] = json.loads(found[1])
        return answer

    def _pushed(self, asked: Asked, told: dict[SubscriptionId, Moment]) -> Batch:
        """Push the messages of a request. `told` gets the subscriptions with a throttle that are told."""
        window, unit = self.window, asked.unit
        first = window.stats.messages
        chunk: Any = unit.events()
        answer = window.push_batch(chunk, changes=asked.is_told)
        rejects: dict[int, Reject] = {}
        for one in answer.errors:
            rejects.setdefault(one.row, one)
        taken = [row for row in range(len(unit.texts)) if row not in rejects]
        numbers = dict(zip(taken, itertools.count(first)))
        changes: dict[int, list[interests.Change]] = {}
        columns = (answer.table[name].to_pylist() for name in ("event", "subscription", "message", "kind", "score"))
        for row, subscription, *change in zip(*columns, strict=True):
            changes.setdefault(row, []).append((subscription, *change))
        name = json.dumps(self.name, ensure_ascii=False)
        texts = {
            row: f'{{"window":{name},"number":{numbers[row]},"message":{unit.texts[row]}}}' for row in sorted(changes)
        }
        now, changed = self._host.clock.moment(), [(texts[row], changes[row]) for row in texts]
        events, suppressed = self.interests.addressed(changed, now, told)
        report = {
            "accepted": len(taken),
            "rejected": len(rejects),
            "messages": window.stats.messages,
            "changes": answer.table.num_rows,
            "deliveries": 0,
            "suppressed": suppressed,
            "errors": [
                [one.row, printable(one.field) or None, printable(one.reason)] for _, one in sorted(rejects.items())
            ],
        }
        self.counts.update(messages=len(taken), changes=answer.table.num_rows, suppressed=suppressed)
        return Batch(events, report, unit.key)

    def _advance(self, moment: Any, key: Key | None) -> dict[str, Any]:
        self._begin()
        before = None if key is None else self._answered(key)
        if before is not None:
            return {**before, "is_repeated": True}
        if isinstance(moment, str) and len(moment) > _MOST_TIME:
            raise invalid(f"time has {len(moment):,} characters; it is an instant or a number of seconds", field="time")
        self._bound_times()
        told: dict[SubscriptionId, Moment] = {}
        with together(self.window) as beside:
            changes = [(one.subscription, one.message, one.kind, one.score) for one in self.window.advance(moment)]
            text = json.dumps({"window": self.name, "time": moment}, ensure_ascii=False)
            now, changed = self._host.clock.moment(), [(text, changes)] if changes else []
            events, suppressed = self.interests.addressed(changed, now, told)
            batch = Batch(events, {"changes": len(changes), "deliveries": 0, "suppressed": suppressed}, key)
            numbered = self._numbered([batch], beside, told)
        self._waiting += numbered
        self.interests.were_told(told)
        self.counts.update(changes=len(changes), suppressed=suppressed)
        reports = {id(batch): batch.report} if batch.is_empty else {}
        if (error := self._try_to_hand_over(reports)) is not None and id(batch) not in reports:
            raise undelivered(error, "the time has passed", has_key=key is not None) from error
        return reports[id(batch)]

    def _bound_times(self) -> None:
        """Refuse times that are far ahead: until then, no message could be pushed any more.

        Seconds may count from any moment, so that the first message may have any time.
        """
        latest = self.window.latest
        if math.isfinite(latest):
            self.window.refuse_after(max(latest, self._host.clock.now_ms() / 1000) + _MOST_AHEAD_S)

    def _subscribe(self, records: Mapping[int, tuple[Mapping[str, Any], Interest]], sender: Sender) -> Subscribed:
        changed: dict[SubscriptionId, Interest | None] = {}
        made: list[Batch] = []
        ks = {record["id"]: record.get("k", DEFAULT_K) for record, _ in records.values()}
        usable = {id: k for id, k in ks.items() if isinstance(k, int) and k > 0}  # the window refuses the others
        self._host.require_memory(SUBSCRIPTIONS, self.window.bytes_for(usable))
        with self._changing(changed, made):
            known = {record["id"] for record, _ in records.values() if record["id"] in self.window}
            chunk: Any = ObjectChunk([(row, record) for row, (record, _) in records.items()])
            rejects = self.window.subscribe_many(chunk, replace=True).errors
            refused = {one.row for one in rejects}
            accepted = [one for row, one in records.items() if row not in refused]
            changed |= {record["id"]: interest for record, interest in accepted}
            made += [Batch(sender=sender)] if accepted else []
        return Subscribed(len(accepted), len(changed.keys() - known), rejects)

    def _measure(self) -> None:
        sizes = self.window.sizes()
        own = sum(sizes[part] for part in ("records", "buffers", "structure"))
        self.bytes = {SUBSCRIPTIONS: own, MESSAGES: sizes["messages"]}

    def _unsubscribe(self, senders: Mapping[SubscriptionId, Sender]) -> None:
        with self._changing(dict.fromkeys(senders), [Batch(sender=one) for one in senders.values()]):
            for id in senders:
                self.window.unsubscribe(id)

    def _expire(self, ids: Sequence[SubscriptionId], now: int) -> int:
        own, expired = f"/v1/windows/{path_part(self.name)}/subscriptions", self.interests.expired(ids, now)
        if expired:
            self._unsubscribe({id: Sender.expiry(f"{own}/{path_part(id)}") for id in expired})
        return len(expired)

    @contextmanager
    def _changing(self, changed: Changed, made: Sequence[Batch]) -> Iterator[None]:
        """Subscriptions change within this block, which fills both arguments. They are durable at its end."""
        self._begin()
        with together(self.window) as beside:
            yield
            self._measure()
            beside.append(partial(interests.put_interests, changed=changed))
            numbered = self._numbered(made, beside)
        self.interests.set(changed)
        self._waiting += numbered
        self._try_to_hand_over({})  # what fails is the record for the audit log, which comes later

    def _numbered(
        self,
        made: Sequence[Batch],
        beside: list[Callable[[Any], None]],
        told: Mapping[SubscriptionId, Moment] | None = None,
    ) -> list[tuple[int, Batch]]:
        """Number the batches of a transaction, which writes them, and the times of subscriptions that are told."""
        if told:
            expected = {id: self._host.clock.expected(moment) for id, moment in told.items()}
            beside.append(partial(put_told, told=expected))
        numbered = list(zip(itertools.count(self._next), (one for one in made if not one.is_empty)))
        if numbered:
            beside.append(partial(batches.put_batches, batches=numbered, done=self._handed))
        return numbered

    def _try_to_hand_over(self, reports: dict[int, dict[str, Any]]) -> Exception | None:
        """Hand over what is durable in the window; returns the error that leaves something for later."""
        try:
            self._hand_over(reports)
        except Exception as error:  # the caller tells what is stored  # noqa: BLE001
            return error
        return None

    def _begin(self) -> None:
        """Hand over what waits, before a change. Raises the error of a store that refused a change, and takes no other.

        A change that fails costs as much as opening the window, and a probe costs nothing.
        """
        self._hand_over()
        if self.progress().error is not None:
            self._probe()
            if (error := self.progress().error) is not None:
                raise error

    def _probe(self) -> None:
        probe_store(self.window, self._host.clock.now_ms())

    def _hand_over(self, reports: dict[int, dict[str, Any]] | None = None) -> None:
        """Hand over all batches in order. `reports` gets those of their requests, by the identity of the batch."""
        submitted, after = [], self._handed
        for number, batch in self._waiting:
            self._next = max(self._next, number + 1)
            done = self._host.submit(HandOver(self._host.outbox, self.number, self.name, after, number, batch))
            done.add_done_callback(self._tell)
            submitted.append(done)
            after = number
        for done in submitted:
            report, stored = done.result()
            self.counts["deliveries"] += len(stored)
            self._handed, batch = self._waiting.popleft()
            if reports is not None:
                reports[id(batch)] = report

    def _tell(self, done: Future[Any]) -> None:
        """In the committing thread: wake those who wait for deliveries."""
        if done.exception() is None and (stored := done.result()[1]):
            self._host.told(stored)
