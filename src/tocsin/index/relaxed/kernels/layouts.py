"""Layouts of relaxed rankings: the dimensions, the request, one event's values, and the best subscriptions.

A dimension is a row of four numbers: a field, the lowest and the highest code it allows, and where its ranges are
listed if it allows several. A *general* dimension holds for an event if a Matcher says so. One that can never hold is
stored as the general dimension after all others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# How the weights of the dimensions that hold become a score.
SUM: Final = 0
MAX: Final = 1
MIN: Final = 2

# The numbers of a row.
FIELD: Final = 0  # -1 - g for general dimension g
LOW: Final = 1
HIGH: Final = 2
MORE: Final = 3  # where `ranges` has their number, and then the ends of each; -1 if there is only one
ROW: Final = 4


class Dimensions(NamedTuple):
    """The dimensions of S subscriptions, by subscription, then in the order that weights are added. D dimensions."""

    starts: NDArray[np.int64]  # (S + 1,) rows [starts[s], starts[s + 1]) are subscription s's
    rows: NDArray[np.int32]  # (4 D,)
    weights: NDArray[np.float64]  # (D,)
    ranges: NDArray[np.int32]


class Lists(NamedTuple):
    """The intervals that cursors return, by place. F fields, N intervals, G general dimensions."""

    places: NDArray[np.int64]  # (F + 1,) the intervals of field f are [places[f], places[f + 1])
    weights: NDArray[np.float64]  # (N,)
    owners: NDArray[np.int32]  # (N,) the subscription
    generals: NDArray[np.int32]  # (G,) the subscription of each general dimension


class EventFields(NamedTuple):
    """The fields of events, and the request. E events, V values."""

    starts: NDArray[np.int64]  # (E + 1,)
    fields: NDArray[np.int32]  # (V,) in the order of their attributes' names
    codes: NDArray[np.int32]  # (V,)
    uppers: NDArray[np.int32]  # (V,) as in `EventCodes`
    held_starts: NDArray[np.int64]  # (E + 1,)
    held: NDArray[np.int32]  # general dimensions that hold
    alive: NDArray[np.uint64]
    combine: int
    is_exact: bool  # whether sums of weights are never rounded
    most: int  # intervals that cursors may return for an event, below 0 for none,
    share: float  # plus this many for each interval of its fields
    passed: float  # cost of an interval that a cursor examines, in returned ones


class Values(NamedTuple):
    """The values of the current event; empty between events. F fields, G general dimensions."""

    codes: NDArray[np.int32]  # (F,) the lowest code of each field
    uppers: NDArray[np.int32]  # (F,) the highest; -1 for none
    held: NDArray[np.uint8]  # (G + 1,) which general dimensions hold


class Heaps(NamedTuple):
    """The best of each event: a heap with the worst first and, in the end, the best first. E events, k of each."""

    scores: NDArray[np.float64]  # (E, k)
    numbers: NDArray[np.int32]  # (E, k)
    found: NDArray[np.int64]  # (E,) how many are found
    counts: NDArray[np.int64]  # (2,) intervals or ranges examined, subscriptions scored


class Work(NamedTuple):
    """The tables that every way of answering takes."""

    dimensions: Dimensions
    lists: Lists
    asked: EventFields
    values: Values
    heaps: Heaps
