"""Where are an engine's subscriptions? In sources: each a segment or a delta, of which some may go.

Numbers and ids of a source never change. A reader holds its snapshot: the bits of the living are copied before they
change if a snapshot has them; scores have versions.
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
    """Numbered subscriptions. Its owner serialises changes."""

    def __init__(self, alive: NDArray[np.uint64]) -> None:
        self.alive = alive
        self.gone = 0
        self._is_shared = False  # a snapshot has these bits

    def __len__(self) -> int:
        """How many are alive."""
        return self.numbered - self.gone

    @property
    @abstractmethod
    def numbered(self) -> int:
        """How many have numbers, those that are gone included."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """What readers hold of it as it is now. The scores stay as they are while its version has users."""

    @abstractmethod
    def last_with(self, name: SubscriptionId) -> int | None:
        """The number of the last subscription with an id, gone or not."""

    @abstractmethod
    def score_of(self, number: int) -> float:
        """The score of a subscription."""

    @abstractmethod
    def put_score(self, number: int, score: float) -> None:
        """Change it."""

    @abstractmethod
    def text(self, number: int) -> str:
        """What a subscription asks for, as it was given."""

    @abstractmethod
    def payload(self, number: int) -> str | None:
        """A subscription's payload as JSON; None or empty for none."""

    @abstractmethod
    def weights_of(self, number: int) -> str | None:
        """The weights of a subscription's conjuncts as JSON; None or empty for none."""

    @abstractmethod
    def place(self, number: int) -> str:
        """Where a subscription lies, in words for the user."""

    @abstractmethod
    def _find(self, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number that each of some ids, in order, has, and whether it has one; of several the one that is alive."""

    def find_living(self, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number that each of some ids, in order, has, and whether it has one that is alive."""
        numbers, is_known = self._find(ids)
        return numbers, is_known & are_alive(self.alive, np.where(is_known, numbers, 0))

    def number_of(self, name: SubscriptionId) -> int | None:
        """The number of the living subscription with an id."""
        number = self.last_with(name)
        return number if number is not None and self.is_alive(number) else None

    def is_alive(self, number: int) -> bool:
        return bool(int(self.alive[number >> 6]) >> (number & 63) & 1)

    def bury(self, number: int) -> None:
        """Take a subscription out."""
        if self._is_shared:
            self.alive = self.alive.copy()
            self._is_shared = False
        self.alive[number >> 6] &= ~(np.uint64(1) << np.uint64(number & 63))
        self.gone += 1

    def _make_room(self, number: int) -> None:
        """Have a bit for a subscription that was added; new bits are set."""
        if number >> 6 >= len(self.alive):
            self.alive = np.concatenate([self.alive, np.full_like(self.alive, ~np.uint64(0))])
            self._is_shared = False

    def _shared_bits(self) -> NDArray[np.uint64]:
        """Who is alive now, for a snapshot."""
        self._is_shared = True
        return self.alive


class SegmentSource(Source):
    """A segment, and what has changed since it was made. `ranks` are for whoever has others beside it to set."""

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
