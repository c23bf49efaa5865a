"""Which of some subscriptions lie together, and which events come there? Dealt by a placement, piece by piece.

What changes bring is dealt, too, to a few pieces at most: partitions that are neighbours share one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.question import Part
from tocsin.placement.assigning import Assignment, Placement
from tocsin.placement.hashing import Hashes
from tocsin.placement.reporting import key_set

_MOST_LATE: Final = 16
"""What changes bring makes so many parts at once, and one more for what every event visits."""


class Dealt(NamedTuple):
    """Those of some subscriptions that lie together."""

    numbers: NDArray[np.int64]  # ascending
    keys: Hashes | None  # by which events come; None: all do
    home: int


def dealt(part: Part, placement: Placement) -> list[Dealt]:
    """The pieces of some subscriptions, one for each partition that has any of them."""
    return _pieces(placement.assign(part))


def dealt_late(part: Part, placement: Placement) -> list[Dealt]:
    """The same of what changes bring. Where there are many partitions, several that are neighbours are one home.

    Such a home's number comes after all partitions' numbers, so it is merged with none of them.
    """
    assignment = placement.assign(part)
    if placement.partitions > _MOST_LATE:
        by_key = assignment.partitions < placement.partitions
        together = np.where(by_key, assignment.partitions * _MOST_LATE // placement.partitions, _MOST_LATE)
        assignment = assignment._replace(partitions=placement.count + together)
    return _pieces(assignment)


def _pieces(assignment: Assignment) -> list[Dealt]:
    homes = np.unique(assignment.partitions).tolist()
    own = [(home, assignment.partitions == home) for home in homes]
    return [
        Dealt(np.unique(assignment.owners[is_here]), key_set(assignment.keys[is_here]), home) for home, is_here in own
    ]
