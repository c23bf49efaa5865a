"""What is known of the events to come? How often they have each attribute: the rarest make the best access keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.batch import EventBatch


@dataclass(frozen=True, slots=True)
class Statistics:
    """The share of events that have each attribute, and where that is known from.

    An attribute that is not named is taken to be as rare as one event in `events`.
    """

    shares: Mapping[str, float]
    source: str  # in words: given, sampled from N events
    events: int = 1_000

    def share(self, attribute: str) -> float:
        return self.shares.get(attribute, 1.0 / (self.events + 1))


def sampled(batches: Sequence[EventBatch]) -> Statistics:
    """Statistics of some events, encoded with every attribute wanted."""
    counts: dict[str, int] = {}
    events = 0
    for batch in batches:
        present = np.bincount(batch.arrays.attributes, minlength=len(batch.attributes))
        for name, count in zip(batch.attributes, present.tolist(), strict=True):
            counts[name] = counts.get(name, 0) + count
        events += len(batch)
    shares = {name: count / events for name, count in counts.items() if count}
    return Statistics(shares, f"sampled from {events:,} events", max(events, 1))


def attribute_shares(
    attributes: Sequence[str], named: NDArray[np.int64], statistics: Statistics | None
) -> NDArray[np.float64]:
    """The share of events with each attribute: known, or else as often as the subscriptions name it."""
    if statistics is not None:
        return np.array([max(statistics.share(name), 1e-9) for name in attributes], np.float64)
    shares: NDArray[np.float64] = (named + 1.0) / (named.max(initial=0) + 1.0)
    return shares
