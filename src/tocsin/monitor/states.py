"""Where objects are at subscriptions, and what rows of matches change of that."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from tocsin.language.operators.over_time import key_of
from tocsin.language.stored import stored_expression
from tocsin.model.change import MATCH, MonitorChange
from tocsin.model.fence import EXIT, LOST
from tocsin.model.subscription import SubscriptionId
from tocsin.monitor.objects import Objects
from tocsin.monitor.terms.matching import Part
from tocsin.monitor.terms.memory.layouts import NOBODY
from tocsin.monitor.turns import SECOND, State, Turn, TurnRules


class CausedChange(NamedTuple):
    """A change, and the event that made it: -1 if time alone did."""

    event: int
    change: MonitorChange


class States:
    """The states of all objects. Not thread-safe."""

    def __init__(self, rules: TurnRules, objects: Objects, *, only_matches: bool) -> None:
        self._rules, self._objects, self._only_matches = rules, objects, only_matches
        self.by_object: dict[int, dict[SubscriptionId, State]] = {}
        self._due: list[tuple[int, int, int, SubscriptionId]] = []  # a heap: instant, tie-breaker, object, subscription
        self._ties = count()

    def restore(self, by_object: dict[int, dict[SubscriptionId, State]]) -> None:
        """Replace all states, and schedule what they are due for."""
        self.by_object, self._due = by_object, []
        for object, states in by_object.items():
            for id, state in states.items():
                self._schedule(object, id, state)

    def _schedule(self, object: int, id: SubscriptionId, state: State) -> None:
        if self._rules.has_spans and (due := state.due(self._rules)) is not None:
            heapq.heappush(self._due, (due[0], next(self._ties), object, id))

    def take(
        self, part: Part, events: np.ndarray, key_of_id: Callable[[SubscriptionId], int] | None
    ) -> Iterator[tuple[int, list[CausedChange]]]:
        """The changes of some rows: for each row with changes its number and these. `events` has each visit's event."""
        rows, matches, has_spans = part.rows, part.matches, self._rules.has_spans
        by_object = self.by_object
        columns = (rows.objects.tolist(), rows.instants.tolist(), rows.visits.tolist(), matches)
        for row, (object, instant, visit, ids) in enumerate(zip(*columns, strict=True)):
            states = by_object.get(object)
            if states is None and not ids:
                continue
            event = -1 if visit == NOBODY else int(events[visit])
            if key_of_id is not None:
                key = int(self._objects.keys[object])
                ids = [one for one in ids if key_of_id(one) == key]
            if self._only_matches:
                if event >= 0 and ids:
                    yield row, [self._told(event, object, one, Turn(instant, MATCH, 0.0, True)) for one in ids]
                continue
            found = self._pass_time(object, instant, states) if has_spans and states else []
            found += self._step(part, row, object, instant, event, ids)
            if found:
                yield row, found

    def _step(
        self, part: Part, row: int, object: int, instant: int, event: int, ids: Sequence[SubscriptionId]
    ) -> list[CausedChange]:
        """What the truths at a row change. Of those that time makes only those count that differ from the latest."""
        states, found = self.by_object.setdefault(object, {}), list[CausedChange]()
        by_event = event >= 0
        pending = [one for one in states if one not in ids] if states else ()
        for one in pending:
            state = states[one]
            if (by_event or state.truth) and part.truth(row, one) is False:
                found += self._turns(object, one, state, state.step(False, instant, by_event, self._rules), event)
                if state.is_over:
                    del states[one]
        for one in ids:
            if one not in states:
                states[one] = State(True, instant, 0)
            elif states[one].truth and not by_event:
                continue
            state = states[one]
            found += self._turns(object, one, state, state.step(True, instant, by_event, self._rules), event)
        if not states:
            del self.by_object[object]
        return found

    def _turns(
        self, object: int, id: SubscriptionId, state: State, turns: Iterator[Turn], event: int
    ) -> list[CausedChange]:
        found = [self._told(event if turn.by_event else -1, object, id, turn) for turn in turns]
        self._schedule(object, id, state)
        return found

    def _pass_time(self, object: int, until: int, states: dict[SubscriptionId, State]) -> list[CausedChange]:
        """What is due for an object up to an instant."""
        found = []
        for id, state in list(states.items()):
            found += self._turns(object, id, state, state.pass_time(until, self._rules), -1)
            if state.is_over:
                del states[id]
        if not states:
            self.by_object.pop(object, None)
        return found

    def pass_time(self, until: int, only: int | None = None) -> list[CausedChange]:
        """What is due for any object up to an instant, or for one only."""
        if only is not None:
            states = self.by_object.get(only)
            return self._pass_time(only, until, states) if states and self._rules.has_spans else []
        found = []
        while self._due and self._due[0][0] <= until:
            _, _, object, id = heapq.heappop(self._due)
            states = self.by_object.get(object)
            if states is not None and id in states:
                found += self._pass_time(object, until, states)
        return found

    def lose(self, object: int) -> list[CausedChange]:
        """Forget an object: a `lost` for each subscription that it is in."""
        latest = int(self._objects.latest[object])
        states = self.by_object.pop(object, {})
        inside = [(id, state.begun) for id, state in states.items() if state.begun is not None]
        return [
            self._told(-1, object, id, Turn(latest, LOST, max(latest - begun, 0) / SECOND, False))
            for id, begun in inside
        ]

    def _told(self, event: int, object: int, id: SubscriptionId, turn: Turn) -> CausedChange:
        identity = self._objects.identity(object)[1]
        seconds = None if turn.change == MATCH else turn.seconds
        return CausedChange(event, MonitorChange(identity, id, turn.change, seconds, turn.at))


def in_order(found: list[CausedChange]) -> list[CausedChange]:
    """Changes by instant: at one instant those of time first, then by event; exits first, then by subscription."""
    return found if len(found) < 2 else sorted(found, key=_place)


def _place(one: CausedChange) -> tuple[Any, ...]:
    event, change = one
    of: Any = change.object
    parts = of if isinstance(of, tuple) else (of,)
    by_type = [(isinstance(part, str), part) for part in parts]
    return change.microseconds, event, change.change != EXIT, change.subscription, by_type


@lru_cache(1 << 14)
def own_key(text: str) -> tuple[str, ...]:
    """The attributes of a stored subscription's own key; empty if it has none."""
    return key_of(stored_expression(text))
