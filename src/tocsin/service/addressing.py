"""Which destinations the matches of events go to, and what each is told."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial

from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.groups import Hits, hits_of
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.values import Instant
from tocsin.records import ObjectChunk
from tocsin.service.clock import Clock
from tocsin.service.directory import Directory, Route
from tocsin.service.fragments import fragments
from tocsin.service.units import Event, Throttled, Unit

Routes = Sequence[Route | None]
"""(M,) Where the matches of an answer go."""


class Addressing:
    """Matches units of events, and sorts the matches by destination."""

    def __init__(self, engine: DurableEngine, directory: Directory, clock: Clock) -> None:
        self._engine, self._directory, self._clock = engine, directory, clock

    def prepare(self) -> None:
        """Load the kernels, so that the first event need not wait for it."""
        hits_of(self._engine, ObjectChunk([(0, {})]))

    def matched(self, units: Sequence[Unit]) -> list[list[Event]]:
        """The events of each unit. Single events are matched as one batch."""
        singles = [unit for unit in units if unit.record is not None]
        records = [unit.record for unit in singles if unit.record is not None]
        events = iter(self._events(ObjectChunk(list(enumerate(records))), [one.texts[0] for one in singles], singles))
        answers = []
        for unit in units:
            if unit.record is not None:
                event = next(events)
                event.key = unit.key
                answers.append([event])
            else:
                answers.append(self._of_many(unit))
        return answers

    def _of_many(self, unit: Unit) -> list[Event]:
        found = self._events(unit.events(), unit.texts, [unit] * len(unit.texts))
        for event, key in zip(found, unit.keys or (), strict=False):
            event.key = key
        return found

    def _events(self, chunk: object, texts: Sequence[str], units: Sequence[Unit]) -> list[Event]:
        if not texts:
            return []
        routes: list[Routes] = []  # of the matches in each answer
        naming = partial(self._asking, routes) if self._directory.asking else None
        now, served = self._clock.now_ms(), set[int]()
        answers, rejects = hits_of(self._engine, chunk, naming=naming, now=Instant(now * 1000))  # type: ignore[arg-type]
        events = [Event(text, now) for text in texts]
        for place, hits in enumerate(answers):
            served.update(hits.rows)
            own = routes[place] if routes else self._routes(hits.ids)
            self._address(hits, own, events, units, now)
        for row, reject in _refused(rejects, len(events), served):
            events[row].refused = reject
        return events

    def _routes(self, ids: Sequence[SubscriptionId]) -> Routes:
        return list(map(self._directory.routes.get, ids))

    def _asking(self, routes: list[Routes], ids: Sequence[SubscriptionId]) -> list[int]:
        """The matches whose destinations ask for named parts. `routes` gets the routes of all, which are used later."""
        routes.append(self._routes(ids))
        known = self._directory.destinations
        targets = (
            None if one is None or one.fence is not None else known.get(one.destination or 0) for one in routes[-1]
        )
        return [place for place, target in enumerate(targets) if target is not None and target.asks_for_named]

    def _address(self, hits: Hits, routes: Routes, events: Sequence[Event], units: Sequence[Unit], now: int) -> None:
        """Give each match to its destination."""
        destinations, texts = self._directory.destinations, fragments(hits)
        for row, (first, stop) in zip(hits.rows, itertools.pairwise(hits.starts), strict=True):
            if first == stop:
                continue
            event, tenant = events[row], units[row].tenant
            event.ids = hits.ids[first:stop]
            for at in range(first, stop):
                route = routes[at]
                target = None if route is None else destinations.get(route.destination or 0)
                if route is None or target is None or target.tenant != tenant or route.fence is not None:
                    continue
                if route.is_silent(now):
                    event.suppressed += 1
                    continue
                if route.throttle_s is not None:
                    event.throttled.append(Throttled(hits.ids[at], route, texts[at]))
                else:
                    event.deliveries.setdefault(target.number, []).append(texts[at])


def _refused(rejects: Iterable[Reject], count: int, served: set[int]) -> list[tuple[int, Reject]]:
    """The events that could not be matched, each with the reason."""
    if len(served) == count:
        return []
    reasons = {reject.row: reject for reject in rejects}
    lost = (row for row in range(count) if row not in served)
    return [(row, reasons.get(row, Reject(row, None, "", "the event cannot be used"))) for row in lost]
