"""The distribution of subscriptions over parts by each placement, computed from a sample with some events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduce.cluster.model import Lies
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Part, Statistics
from tocsin.placement import Router, keys_of_partitions, planned


def lies_of(part: Part, name: str, parts: int, statistics: Statistics, batches: Sequence[EventBatch]) -> Lies:
    """Visits, copies and balance. Balance is the busiest part over the mean, by visits times subscriptions there."""
    placement, report = planned(part, name, parts, statistics)
    assignment = placement.assign(part)
    sizes = np.bincount(assignment.partitions[assignment.is_first], minlength=placement.count)
    router = Router.of(placement, keys_of_partitions(assignment, placement))
    visited = sum(router.visits(batch).sum(axis=0) for batch in batches) * (sizes > 0)
    events = sum(len(batch) for batch in batches)
    busy = visited * sizes
    balance = float(busy.max() / busy.sum() * (sizes > 0).sum())
    return Lies(placement.count, float(visited.sum() / events), report.copies, balance)
