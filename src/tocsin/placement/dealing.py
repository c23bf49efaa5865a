"""Dealing subscriptions into pieces by a placement: the subscriptions of a partition, and the keys of its events.

Subscriptions of later changes are dealt into a few pieces at most: neighbouring partitions share one.
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
"""The most parts that a batch of changes makes, besides one for subscriptions that every event visits."""


class Dealt(NamedTuple):
    """Subscriptions that share a partition."""

    numbers: NDArray[np.int64]  # ascending
    keys: Hashes | None  # routing keys; None: receives every event
    home: int


def dealt(part: Part, placement: Placement) -> list[Dealt]:
    """The pieces of some subscriptions, one for each partition that has any."""
    return _pieces(placement.assign(part))


def dealt_late(part: Part, placement: Placement) -> list[Dealt]:
    """The pieces of changed subscriptions. If there are many partitions, several neighbours share a home.

    The number of such a home follows all partitions' numbers, so it is not merged with any of them.
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
