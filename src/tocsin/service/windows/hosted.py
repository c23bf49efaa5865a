"""A window that is served. Its changes are made on a thread of its own, one after the other."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.service.addressing import fragment
from tocsin.service.audit import Sender
from tocsin.service.outbox import Stored
from tocsin.service.problems import Problem, invalid
from tocsin.service.readers import Readers
from tocsin.service.units import Key, Unit
from tocsin.service.windows import batches
from tocsin.service.windows.batches import Batch, HandOver, Interest
from tocsin.store import Change
from tocsin.window import Window
from tocsin.window.durable import together

_MOST_TOGETHER: Final = 256
"""Requests whose messages share a transaction."""
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
    most_messages: float


_INTERESTS: Final = (
    "SELECT s.id, s.words, s.x, s.y, s.k, s.alpha, i.destination, i.payload FROM window_subscriptions AS s "
    "LEFT JOIN service_interests AS i ON i.id = s.id"
)


def _record(row: tuple[Any, ...]) -> dict[str, Any]:
    """A subscription of a window; its destination is a number."""
    id, words, x, y, k, alpha, destination, payload = row
    document = {"id": id, "words": json.loads(words), "location": [x, y], "k": k, "alpha": alpha}
    return document | {"destination": destination, "payload": None if payload is None else json.loads(payload)}


class Hosted:
    """A durable window, the interests of its subscriptions, and the batches that are not handed over yet."""

    def __init__(self, number: int, name: str, handed: int, folder: Path, options: Mapping[str, Any], host: Hosting):
        self.number, self.name, self._host = number, name, host
        self.window = Window.open(folder, **options, sync=host.sync)
        self.readers = Readers(folder)
        try:
            with together(self.window) as beside:
                beside.append(batches.prepare)
            self.interests, waiting = batches.read(folder)
        except BaseException:
            self.close()
            raise
        self._handed = handed
        self._waiting = deque((at, batch) for at, batch in waiting if at > handed)
        self._next = max(handed, waiting[-1][0] if waiting else 0) + 1
        self.uses = Counter(one.destination for one in self.interests.values() if one.destination is not None)
        self.counts = Counter[str]()
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

    def subscribe(self, id: SubscriptionId, record: Mapping[str, Any], one: Interest, sender: Sender) -> Future[bool]:
        """Add or replace a subscription; the answer says whether it is new."""
        return self._thread.submit(self._subscribe, id, record, one, sender)

    def unsubscribe(self, id: SubscriptionId, sender: Sender) -> Future[None]:
        """Remove a subscription."""
        return self._thread.submit(self._unsubscribe, id, sender)

    def advance(self, moment: Any, key: Key | None) -> Future[dict[str, Any]]:
        """Let time pass without a message."""
        return self._thread.submit(self._advance, moment, key)

    def hand_over(self) -> Future[Any]:
        """Hand over what an error left."""
        return self._thread.submit(self._hand_over)

    @property
    def is_behind(self) -> bool:
        """Whether changes are not handed over yet."""
        return bool(self._waiting)

    def row(self, connection: sqlite3.Connection, id: SubscriptionId) -> dict[str, Any] | None:
        """A subscription as its store has it; None if there is none."""
        found = connection.execute(f"{_INTERESTS} WHERE s.id = ?", (id,)).fetchone()
        return None if found is None else _record(found)

    def rows(self, connection: sqlite3.Connection, after: str | None, limit: int) -> list[dict[str, Any]]:
        """The first subscriptions after an id, in the order of their ids."""
        where, values = ("", ()) if after is None else ("WHERE s.id > ?", (after,))
        found = connection.execute(f"{_INTERESTS} {where} ORDER BY s.id LIMIT ?", (*values, limit)).fetchall()
        return list(map(_record, found))

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
        self._hand_over()
        new = [one for one in asked if self._is_new(one)]
        with together(self.window) as beside:
            made = [self._pushed(one) for one in new]
            numbered = self._numbered(made, beside)
        self._waiting += numbered
        reports = self._hand_over()
        for batch, one in zip(made, new, strict=True):
            one.done.set_result(reports.get(id(batch), batch.report))

    def _is_new(self, asked: Asked) -> bool:
        """Whether messages are to be pushed. They are not if they came before, or if there is no room."""
        most, key = self._host.most_messages, asked.unit.key
        try:
            before = None if key is None else self._answered(key)
            if before is None and self.window.size is None and self.window.held >= most:
                detail = f"the window has {self.window.held:,} messages, and {most:,g} are allowed; push them later"
                raise Problem(429, "quota", detail, headers={"Retry-After": "60"}, limit="window_messages")
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

    def _pushed(self, asked: Asked) -> Batch:
        """Push the messages of a request."""
        window, unit = self.window, asked.unit
        first = window.stats.messages
        chunk: Any = unit.events()
        answer = window.push_batch(chunk, changes=asked.is_told)
        rejects: dict[int, Reject] = {}
        for one in answer.errors:
            rejects.setdefault(one.row, one)
        taken = [row for row in range(len(unit.texts)) if row not in rejects]
        numbers = dict(zip(taken, itertools.count(first)))
        changes: dict[int, list[tuple[Any, ...]]] = {}
        columns = (answer.table[name].to_pylist() for name in ("event", "subscription", "message", "kind", "score"))
        for row, *change in zip(*columns, strict=True):
            changes.setdefault(row, []).append(tuple(change))
        name = json.dumps(self.name, ensure_ascii=False)
        texts = {
            row: f'{{"window":{name},"number":{numbers[row]},"message":{unit.texts[row]}}}' for row in sorted(changes)
        }
        report = {
            "accepted": len(taken),
            "rejected": len(rejects),
            "messages": window.stats.messages,
            "changes": answer.table.num_rows,
            "deliveries": 0,
            "errors": [[one.row, one.field or None, one.reason] for _, one in sorted(rejects.items())],
        }
        self.counts.update(messages=len(taken), changes=answer.table.num_rows)
        return Batch(self._addressed([(texts[row], changes[row]) for row in texts]), report, unit.key)

    def _addressed(
        self, changed: Sequence[tuple[str, Sequence[tuple[Any, ...]]]]
    ) -> list[tuple[str, dict[int, list[str]]]]:
        """The changes of each event by destination, as JSON objects."""
        events = []
        for text, changes in changed:
            parts: dict[int, list[str]] = {}
            for subscription, message, kind, score in changes:
                interest = self.interests.get(subscription)
                if interest is None or interest.destination is None:
                    continue
                more = f',"change":"{kind}","message":{json.dumps(message, ensure_ascii=False)}}}'
                told = fragment(subscription, score, interest.payload)[:-1] + more
                parts.setdefault(interest.destination, []).append(told)
            if parts:
                events.append((text, parts))
        return events

    def _advance(self, moment: Any, key: Key | None) -> dict[str, Any]:
        self._hand_over()
        before = None if key is None else self._answered(key)
        if before is not None:
            return {**before, "is_repeated": True}
        with together(self.window) as beside:
            changes = [(one.subscription, one.message, one.kind, one.score) for one in self.window.advance(moment)]
            text = json.dumps({"window": self.name, "time": moment}, ensure_ascii=False)
            report = {"changes": len(changes), "deliveries": 0}
            batch = Batch(self._addressed([(text, changes)] if changes else []), report, key)
            numbered = self._numbered([batch], beside)
        self._waiting += numbered
        self.counts["changes"] += len(changes)
        return self._hand_over().get(id(batch), batch.report)

    def _subscribe(self, id: SubscriptionId, record: Mapping[str, Any], one: Interest, sender: Sender) -> bool:
        self._hand_over()
        is_new = id not in self.window
        with together(self.window) as beside:
            self.window.subscribe(id, **record, replace=True)
            beside.append(partial(batches.put_interest, id=id, one=one))
            numbered = self._numbered([Batch(sender=sender)], beside)
        self._set(id, one)
        self._waiting += numbered
        self._hand_over()
        return is_new

    def _unsubscribe(self, id: SubscriptionId, sender: Sender) -> None:
        self._hand_over()
        with together(self.window) as beside:
            self.window.unsubscribe(id)
            beside.append(partial(batches.put_interest, id=id, one=None))
            numbered = self._numbered([Batch(sender=sender)], beside)
        self._set(id, None)
        self._waiting += numbered
        self._hand_over()

    def _set(self, id: SubscriptionId, one: Interest | None) -> None:
        before = self.interests.pop(id, None)
        if before is not None and before.destination is not None:
            self.uses[before.destination] -= 1
        if one is not None:
            self.interests[id] = one
            if one.destination is not None:
                self.uses[one.destination] += 1

    def _numbered(self, made: Sequence[Batch], beside: list[Callable[[Any], None]]) -> list[tuple[int, Batch]]:
        """Number the batches of a transaction, which writes them."""
        numbered = list(zip(itertools.count(self._next), (one for one in made if not one.is_empty)))
        if numbered:
            beside.append(partial(batches.put_batches, batches=numbered, done=self._handed))
        return numbered

    def _hand_over(self) -> dict[int, dict[str, Any]]:
        """Hand over all batches in order; returns the reports of their requests, by the identity of the batch."""
        reports: dict[int, dict[str, Any]] = {}
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
            reports[id(batch)] = report
        return reports

    def _tell(self, done: Future[Any]) -> None:
        """In the committing thread: wake those who wait for deliveries."""
        if done.exception() is None and (stored := done.result()[1]):
            self._host.told(stored)
