"""Scores of subscriptions on an event: the sum, maximum or minimum of the weights of their dimensions that hold.

The best of each event are a heap with the worst first. Of equal scores a higher number is worse.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.layouts import HIGH, LOW, MAX, MORE, ROW, SUM, Heaps, Work
from tocsin.jit.decorators import inlined, inner

NOTHING: Final = -1.0
"""The score of a subscription of which no dimension holds: below every weight."""

_ROW = np.uint64(ROW)
_ONE = np.uint64(1)


@inlined
def enter_event(work: Work, event: int) -> None:
    """Write an event's values into `values`."""
    asked, values = work.asked, work.values
    for i in range(asked.starts[event], asked.starts[event + 1]):
        values.codes[asked.fields[i]], values.uppers[asked.fields[i]] = asked.codes[i], asked.uppers[i]
    for i in range(asked.held_starts[event], asked.held_starts[event + 1]):
        values.held[asked.held[i]] = 1


@inlined
def leave_event(work: Work, event: int) -> None:
    """Clear an event's values from `values`."""
    asked, values = work.asked, work.values
    for i in range(asked.starts[event], asked.starts[event + 1]):
        values.codes[asked.fields[i]] = values.uppers[asked.fields[i]] = -1
    for i in range(asked.held_starts[event], asked.held_starts[event + 1]):
        values.held[asked.held[i]] = 0


@inlined
def holds(work: Work, dimension: int) -> bool:
    """Whether a dimension holds for the event in `values`."""
    rows, values = work.dimensions.rows, work.values
    row = _ROW * np.uint64(dimension)
    field = rows[row]
    if field < 0:
        return values.held[-1 - field] != 0
    value, upper = values.codes[field], values.uppers[field]
    if upper < rows[row + np.uint64(LOW)] or value > rows[row + np.uint64(HIGH)]:
        return False
    more = np.int64(rows[row + np.uint64(MORE)])
    return more < 0 or meets_one(work.dimensions.ranges, more, value, upper)


@inlined
def meets_one(ranges: NDArray[np.int32], more: int, value: int, upper: int) -> bool:
    """Whether [value, upper] meets one of the ranges that are listed at `more`."""
    for i in range(more + 1, more + 1 + 2 * ranges[more], 2):
        if ranges[i] <= upper and value <= ranges[i + 1]:
            return True
    return False


@inner
def score_of(work: Work, number: int) -> float:
    """The score of a subscription on the event in `values`; NOTHING if none of its dimensions holds."""
    starts, weights, combine = work.dimensions.starts, work.dimensions.weights, work.asked.combine
    score = NOTHING
    at = np.uint64(number)
    for d in range(np.uint64(starts[at]), np.uint64(starts[at + _ONE])):
        if not holds(work, d):
            continue
        weight = weights[d]
        if score == NOTHING:
            score = weight
        elif combine == SUM:
            score += weight
        elif combine == MAX:
            score = max(score, weight)
        else:
            score = min(score, weight)
    return score


@inlined
def is_alive(work: Work, number: int) -> bool:
    """Whether a subscription is live."""
    at = np.uint64(number)
    return (work.asked.alive[at >> np.uint64(6)] >> (at & np.uint64(63))) & _ONE != np.uint64(0)


@inlined
def _is_worse(score: float, number: int, other: float, other_number: int) -> bool:
    """Whether one ranks after another: by a lower score or, if equal, a higher number."""
    return score < other or (score == other and number > other_number)


@inner
def keep(heaps: Heaps, event: int, kept: int, score: float, number: int) -> int:
    """Add a subscription to an event's best if it is among them. `kept` are known; returns how many are known now."""
    scores, numbers = heaps.scores[event], heaps.numbers[event]
    if kept == len(scores):
        if _is_worse(scores[0], np.int64(numbers[0]), score, number):
            _replace_worst(scores, numbers, kept, score, number)
        return kept
    at = kept
    while at > 0:
        up = (at - 1) >> 1
        if not _is_worse(score, number, scores[up], np.int64(numbers[up])):
            break
        scores[at], numbers[at] = scores[up], numbers[up]
        at = up
    scores[at], numbers[at] = score, number
    return kept + 1


@inlined
def _replace_worst(
    scores: NDArray[np.float64], numbers: NDArray[np.int32], count: int, score: float, number: int
) -> None:
    """Replace the worst of `count`."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and _is_worse(
            scores[child + 1], np.int64(numbers[child + 1]), scores[child], np.int64(numbers[child])
        ):
            child += 1
        if not _is_worse(scores[child], np.int64(numbers[child]), score, number):
            break
        scores[at], numbers[at] = scores[child], numbers[child]
        at = child
    scores[at], numbers[at] = score, number


@inner
def sort_best(heaps: Heaps, event: int, kept: int) -> None:
    """Sort an event's heap best first."""
    scores, numbers = heaps.scores[event], heaps.numbers[event]
    for left in range(kept - 1, 0, -1):
        score, number = scores[0], numbers[0]
        _replace_worst(scores, numbers, left, scores[left], np.int64(numbers[left]))
        scores[left], numbers[left] = score, number
