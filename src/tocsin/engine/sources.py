"""The sources of an engine: segments and deltas, with the live subscriptions of each.

A source's numbers and ids never change. A reader holds a snapshot. The bitmap of live subscriptions is copied before a
change if a snapshot has it; scores have versions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tocsin.index.alive import are_alive, everyone, living
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import Segment, SegmentSnapshot, Snapshot
from tocsin.segment.ids import Ids, find_id, find_ids
from tocsin.segment.ordering import ONE_ALONE
from tocsin.segment.scores import MOST_CHANGED, Scores
from tocsin.segment.segment import Ranks


class Source(ABC):
    """Numbered subscriptions. The owner serialises changes."""

    def __init__(self, alive: NDArray[np.uint64]) -> None:
        self.alive = alive
        self.gone = 0
        self._is_shared = False  # a snapshot has this bitmap

    def __len__(self) -> int:
        """The number of live subscriptions."""
        return self.numbered - self.gone

    @property
    @abstractmethod
    def numbered(self) -> int:
        """The number of subscriptions, including removed ones."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The current state, for readers. Its scores do not change while its version is in use."""

    def snapshot_to_merge(self) -> Snapshot:
        """A snapshot whose subscriptions are read, and not matched."""
        return self.snapshot()

    @abstractmethod
    def last_with(self, name: SubscriptionId) -> int | None:
        """The number of the last subscription with an id, live or removed."""

    @abstractmethod
    def score_of(self, number: int) -> float:
        """The score of a subscription."""

    @abstractmethod
    def put_score(self, number: int, score: float) -> None:
        """Change the score of a subscription."""

    @abstractmethod
    def text(self, number: int) -> str:
        """The original text of a subscription."""

    @abstractmethod
    def payload(self, number: int) -> str | None:
        """A subscription's payload as JSON; None or empty if it has none."""

    @abstractmethod
    def weights_of(self, number: int) -> str | None:
        """The weights of a subscription's conjuncts as JSON; None or empty if it has none."""

    @abstractmethod
    def place(self, number: int) -> str:
        """Where a subscription is stored, in words for the user."""

    @abstractmethod
    def _find(self, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number for each of some sorted ids, and whether there is one; the live one if several have the id."""

    def find_living(self, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number for each of some sorted ids, and whether a live subscription has it."""
        numbers, is_known = self._find(ids)
        return numbers, is_known & are_alive(self.alive, np.where(is_known, numbers, 0))

    def number_of(self, name: SubscriptionId) -> int | None:
        """The number of the live subscription with an id."""
        number = self.last_with(name)
        return number if number is not None and self.is_alive(number) else None

    def is_alive(self, number: int) -> bool:
        return bool(int(self.alive[number >> 6]) >> (number & 63) & 1)

    def bury(self, number: int) -> None:
        """Remove a subscription."""
        if self._is_shared:
            self.alive, self._is_shared = self.alive.copy(), False
        at = number >> 6
        bits = self.alive[at] & ~(np.uint64(1) << np.uint64(number & 63))
        self.alive[at], self.gone = bits, self.gone + 1

    def lives(self) -> tuple[NDArray[np.uint64], int, bool]:
        """The live subscriptions, for `put_lives` to return to. The bitmap itself is not changed from now on."""
        before = self.alive, self.gone, self._is_shared
        self._is_shared = True
        return before

    def put_lives(self, lives: tuple[NDArray[np.uint64], int, bool]) -> None:
        """Return to earlier live subscriptions."""
        self.alive, self.gone, self._is_shared = lives

    def _make_room(self, number: int) -> None:
        """Add a bit for a new subscription; new bits are set."""
        if number >> 6 >= len(self.alive):
            longer = np.concatenate([self.alive, np.full_like(self.alive, ~np.uint64(0))])
            self.alive, self._is_shared = longer, False

    def _shared_bits(self) -> NDArray[np.uint64]:
        """The bitmap of live subscriptions, for a snapshot."""
        self._is_shared = True
        return self.alive


class SegmentSource(Source):
    """A segment and its changes since it was built. An owner of several segments sets `ranks`."""

    def __init__(self, segment: Segment, most_changed: int = MOST_CHANGED) -> None:
        super().__init__(everyone(len(segment)) if segment.alive is None else segment.alive)
        self.segment = segment
        self.ranks: Ranks = ONE_ALONE
        if segment.alive is not None:
            self.gone = len(segment) - len(living(segment.alive, len(segment)))
            self._is_shared = True
        self._arrow_ids = segment.arrow_ids()
        self._scores = Scores(segment.scores, most_changed)

    @property
    def numbered(self) -> int:
        return len(self.segment)

    def snapshot(self) -> SegmentSnapshot:
        alive = self._shared_bits() if self.gone else None
        return SegmentSnapshot(alive, self._scores.version(), len(self), self.ranks, self.segment, self._arrow_ids)

    def last_with(self, name: SubscriptionId) -> int | None:
        return find_id(self.segment.ids, name)

    def score_of(self, number: int) -> float:
        return self._scores.get(number)

    def put_score(self, number: int, score: float) -> None:
        self._scores.put(number, score)

    def text(self, number: int) -> str:
        return self.segment.sources.text(number)

    def payload(self, number: int) -> str | None:
        return None if self.segment.payloads is None else self.segment.payloads.text(number)

    def weights_of(self, number: int) -> str | None:
        return None if self.segment.weights is None else self.segment.weights.text(number)

    def place(self, number: int) -> str:
        return self.segment.place(number)

    def _find(self, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return find_ids(self.segment.ids, ids)
