"""What does a subscription score on an event? The weights of its dimensions that hold, added, or the most or the least.

A dimension is a row of four numbers: a field, the lowest and the highest code of it that it allows and, where it allows
several ranges between these, where they are listed. A *general* dimension holds for an event or not, as a Matcher says;
one that can never hold is the general dimension behind all others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined

# How the weights of the dimensions that hold become a score.
SUM: Final = 0
MAX: Final = 1
MIN: Final = 2

NOTHING: Final = -1.0
"""The score of a subscription of which nothing holds: below every weight."""

# The numbers of a row.
FIELD: Final = 0  # -1 - g for general dimension g
LOW: Final = 1
HIGH: Final = 2
MORE: Final = 3  # where `ranges` has how many there are, and then the ends of each; -1 where there is one
ROW: Final = 4

_ROW = np.uint64(ROW)
_ONE = np.uint64(1)


class Dimensions(NamedTuple):
    """The dimensions of S subscriptions, by subscription, then in the order that weights are added. D of them."""

    starts: NDArray[np.int64]  # (S + 1,) rows [starts[s], starts[s + 1]) are subscription s's
    rows: NDArray[np.int32]  # (4 D,)
    weights: NDArray[np.float64]  # (D,)
    ranges: NDArray[np.int32]


@inlined
def holds(
    rows: NDArray[np.int32],
    ranges: NDArray[np.int32],
    values: NDArray[np.int32],
    uppers: NDArray[np.int32],
    held: NDArray[np.int32],
    stamp: int,
    dimension: int,
) -> bool:
    """Whether a dimension holds; `values` and `uppers` have the event's codes of each field, -1 for none."""
    row = _ROW * np.uint64(dimension)
    field = rows[row]
    if field < 0:
        return held[-1 - field] == stamp
    value = values[field]
    upper = uppers[field]
    if upper < rows[row + np.uint64(LOW)] or value > rows[row + np.uint64(HIGH)]:
        return False
    more = np.int64(rows[row + np.uint64(MORE)])
    if more < 0:
        return True
    for i in range(more + 1, more + 1 + 2 * ranges[more], 2):
        if ranges[i] <= upper and value <= ranges[i + 1]:
            return True
    return False


@inlined
def score_of(
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    weights: NDArray[np.float64],
    ranges: NDArray[np.int32],
    combine: int,
    values: NDArray[np.int32],
    uppers: NDArray[np.int32],
    held: NDArray[np.int32],
    stamp: int,
    number: int,
) -> float:
    """The score of a subscription; NOTHING where no dimension of it holds."""
    score = NOTHING
    at = np.uint64(number)
    for d in range(np.uint64(starts[at]), np.uint64(starts[at + _ONE])):
        if not holds(rows, ranges, values, uppers, held, stamp, d):
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
def is_worse(score: float, number: int, other: float, other_number: int) -> bool:
    """Whether one comes after another: a lower score or, of equal ones, a higher number."""
    return score < other or (score == other and number > other_number)


@inlined
def keep(scores: NDArray[np.float64], numbers: NDArray[np.int32], kept: int, score: float, number: int) -> int:
    """Put one among the best, a heap whose first is the worst, if it is; returns how many are kept."""
    if kept == len(scores):
        if is_worse(scores[0], numbers[0], score, number):
            replace_worst(scores, numbers, kept, score, number)
        return kept
    at = kept
    while at > 0:
        up = (at - 1) >> 1
        if not is_worse(score, number, scores[up], numbers[up]):
            break
        scores[at], numbers[at] = scores[up], numbers[up]
        at = up
    scores[at], numbers[at] = score, number
    return kept + 1


@inlined
def replace_worst(
    scores: NDArray[np.float64], numbers: NDArray[np.int32], count: int, score: float, number: int
) -> None:
    """Put one in the place of the worst of `count`."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and is_worse(scores[child + 1], numbers[child + 1], scores[child], numbers[child]):
            child += 1
        if not is_worse(scores[child], numbers[child], score, number):
            break
        scores[at], numbers[at] = scores[child], numbers[child]
        at = child
    scores[at], numbers[at] = score, number


@inlined
def sort_best(scores: NDArray[np.float64], numbers: NDArray[np.int32], kept: int) -> None:
    """Turn the heap into the best first."""
    for left in range(kept - 1, 0, -1):
        score, number = scores[0], numbers[0]
        replace_worst(scores, numbers, left, scores[left], numbers[left])
        scores[left], numbers[left] = score, number
