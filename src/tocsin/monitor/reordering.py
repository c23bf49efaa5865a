"""Events that are held back for a while, so that those that arrive late are processed in order."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.monitor.objects import LONG_AGO, Objects
from tocsin.monitor.visiting import Reading


class BufferedVisit(NamedTuple):
    """An event of one object. `arrival` is the number of the event."""

    instant: int
    arrival: int
    object: int
    record: Any
    how: Reading


class ReorderBuffer:
    """The clock that all objects share, and the visits that wait for it. Instants are in microseconds.

    No visit older than the *frontier* of its object can still come. It is `lateness` before the shared clock or, for an
    object that is far ahead, before its own latest event.
    """

    def __init__(self, lateness: int, most_ahead: int, objects: Objects) -> None:
        self.clock: int | None = None
        self._lateness, self._most_ahead, self._objects = lateness, most_ahead, objects
        self._held: list[BufferedVisit] = []

    def __len__(self) -> int:
        return len(self._held)

    @property
    def frontier(self) -> int | None:
        """The frontier of all objects that are not far ahead."""
        return None if self.clock is None else self.clock - self._lateness

    def frontier_of(self, object: int) -> int:
        """The frontier of an object, which may be far ahead."""
        return max(self._clock_or_less(), int(self._objects.latest[object])) - self._lateness

    def is_late(self, object: int, instant: int) -> bool:
        """Whether a visit is older than the frontier of its object."""
        return instant < self.frontier_of(object)

    def hold(self, visit: BufferedVisit) -> None:
        """Keep a visit that is not late."""
        heapq.heappush(self._held, visit)
        latest = self._objects.latest
        latest[visit.object] = max(latest[visit.object], visit.instant)

    @property
    def held(self) -> list[BufferedVisit]:
        """The visits that wait."""
        return list(self._held)

    def frontiers(self, objects: int) -> NDArray[np.int64]:
        """Until when time has passed for each object below a number."""
        latest = self._objects.latest[:objects]
        return np.asarray(np.maximum(latest, self._clock_or_less()) - self._lateness)

    def restore(self, clock: int | None, held: list[BufferedVisit]) -> None:
        """Replace the clock and the visits."""
        self.clock, self._held = clock, held
        heapq.heapify(self._held)

    def move(self, instant: int) -> bool:
        """Move the clock to the instant of an event; not if that is far ahead, which is returned."""
        if self.clock is not None and instant > self.clock + self._most_ahead:
            return True
        self.clock = max(self._clock_or_less(), instant)
        return False

    def advance(self, instant: int) -> None:
        """Move the clock to an instant, however far it is."""
        self.clock = max(self._clock_or_less(), instant)

    def ready(self) -> list[BufferedVisit]:
        """Take out the visits up to the frontier, in order."""
        frontier, found = self.frontier, list[BufferedVisit]()
        while self._held and frontier is not None and self._held[0].instant <= frontier:
            found.append(heapq.heappop(self._held))
        return found

    def ready_of(self, object: int) -> tuple[int, list[BufferedVisit]]:
        """The frontier of an object that is far ahead, and the visits up to there, which are taken out."""
        frontier = self.frontier_of(object)
        found = [one for one in self._held if one.object == object and one.instant <= frontier]
        if found:
            taken = {id(one) for one in found}
            self._held = [one for one in self._held if id(one) not in taken]
            heapq.heapify(self._held)
        return frontier, sorted(found, key=lambda one: one[:3])

    def is_ahead(self, object: int) -> bool:
        """Whether an object is ahead of the clock that all share."""
        return bool(self._objects.latest[object] > self._clock_or_less())

    def drop(self, object: int) -> None:
        """Forget the visits of an object."""
        self._held = [one for one in self._held if one.object != object]
        heapq.heapify(self._held)

    def _clock_or_less(self) -> int:
        return LONG_AGO + self._lateness if self.clock is None else self.clock
