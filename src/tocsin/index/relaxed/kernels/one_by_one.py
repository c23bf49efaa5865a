"""Scoring one by one: subscriptions with general dimensions, or several ranges of one field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.layouts import FIELD, MORE, ROW, Dimensions, Work
from tocsin.index.relaxed.kernels.weighing import (
    NOTHING,
    enter_event,
    holds,
    is_alive,
    keep,
    leave_event,
    score_of,
    sort_best,
)
from tocsin.jit.decorators import inner, kernel
from tocsin.jit.views import viewed


@inner
def is_alone(rows: NDArray[np.int32], start: int, stop: int) -> bool:
    """Whether a subscription with rows [start, stop) is in no tile or list."""
    for d in range(start, stop):
        if rows[ROW * d + FIELD] < 0 or rows[ROW * d + MORE] >= 0:
            return True
    return False


@kernel
def those_alone(dimensions: Dimensions) -> NDArray[np.int32]:
    """The subscriptions in no tile or list."""
    dimensions = viewed(dimensions)
    starts, rows = dimensions.starts, dimensions.rows
    alone, count = np.empty(len(starts) - 1, np.int32), 0
    for s in range(len(alone)):
        if is_alone(rows, starts[s], starts[s + 1]):
            alone[count] = s
            count += 1
    return alone[:count].copy()


@kernel
def best_one_by_one(work: Work, alone: NDArray[np.int32], events: NDArray[np.int64]) -> None:
    """Put subscriptions that are alone on the heaps of some events, and sort these best first."""
    work = viewed(work)
    heaps = work.heaps
    for event in events:
        enter_event(work, event)
        kept = heaps.found[event]
        for i in range(len(alone)):
            number = np.int64(alone[i])
            if is_alive(work, number):
                score = score_of(work, number)
                if score != NOTHING:
                    kept = keep(heaps, event, kept, score, number)
        leave_event(work, event)
        sort_best(heaps, event, kept)
        heaps.found[event] = kept


@kernel
def held_dimensions(work: Work, event: int) -> NDArray[np.int64]:
    """All dimensions of live subscriptions that hold for an event. Cost: linear."""
    work = viewed(work)
    starts = work.dimensions.starts
    out, count = np.empty(len(work.dimensions.weights), np.int64), 0
    enter_event(work, event)
    for number in range(len(starts) - 1):
        if is_alive(work, number):
            for d in range(starts[number], starts[number + 1]):
                if holds(work, np.uint64(d)):
                    out[count] = d
                    count += 1
    leave_event(work, event)
    return out[:count].copy()
