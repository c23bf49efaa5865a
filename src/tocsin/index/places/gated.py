"""Conditions on places that are looked for by the other conditions of their subscriptions, where many areas overlap.

A subscription such as `carrier = 'c17' AND S_INTERSECTS(location, POLYGON(...))` can only match an event with that
carrier. Where thousands of areas overlap, it is cheaper to find the subscriptions with the event's carrier first, and
to test only their areas. `index.gates` finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.index.places.places import Places


class Gated(NamedTuple):
    """The conditions to test at crowded places. P places, C conditions, N pairs.

    Of the gated conditions, only those in the pairs can matter there. Conditions that are not gated are looked for by
    place, as at all other places.
    """

    is_crowded: NDArray[np.bool_]  # (P,)
    is_gated: NDArray[np.bool_]  # (C,) later conditions are not; the same array from call to call
    owners: NDArray[np.int64]  # (N,) the place
    conditions: NDArray[np.int64]  # (N,) whose box has the place in it

    def at(self, chosen: NDArray[np.int64]) -> Gated:
        """What is about some places, which become 0, 1 .."""
        places = np.full(len(self.is_crowded), -1)
        places[chosen] = np.arange(len(chosen))
        own = places[self.owners]
        kept = own >= 0
        return Gated(self.is_crowded[chosen], self.is_gated, own[kept], self.conditions[kept])


class Indexed(Protocol):
    """An index of the conditions `first` to `stop` by place."""

    @property
    def first(self) -> int: ...

    @property
    def stop(self) -> int: ...

    @property
    def most(self) -> int:
        """The most boxes that `crowd` counts."""

    def bounds(self) -> NDArray[np.float64]:
        """(C, 4) the box of each condition outside of which it is not TRUE; NaN if there is none."""

    def crowd(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """(P,) about how many boxes lie around each point."""

    def around(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """The conditions whose box has a point in it, among all `asked`: once for each point and box."""


class Gates(Protocol):
    """Finds the conditions that can matter to an event by the other conditions of their subscriptions."""

    def of(
        self, batch: EventBatch, places: Places, name: str, asked: Sequence[str], blocks: Sequence[Indexed]
    ) -> Gated | None:
        """What to test of the `asked` conditions on the places of an attribute; None if no place is crowded."""
