"""Placement of subscriptions: those that cost an event less by their rectangle, or by their region and keywords.

The cost of each way is a share of events times nanoseconds, as for keys of several attributes (`access.schemas`).
Shares are multiplied as if attributes were independent. A pair of attributes must save more than its tiles cost every
event that has both. The subscriptions moved must save more than a second structure costs. A sample of the subscriptions
shows whether any do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import numbered
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.columns.payloads import numbers_of
from tocsin.index.boolean.access.building import expected_costs, literal_prices
from tocsin.index.boolean.access.schemas import TAKE, VERIFY
from tocsin.index.fields.kernels.key_tables import named_attributes
from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.rectangles.kernels.layouts import Axes
from tocsin.index.rectangles.rectangles import Coded, attributes_of
from tocsin.index.spatial_text.regions import Coded as Regions
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.kernels import codes

FEWEST: Final = 512
"""With fewer subscriptions all are placed under access keys."""

SAMPLED: Final = 16_384

# Nanoseconds, measured on maps of benchmark B2 (decision 0036).
_COMPARE: Final = 0.3  # a rectangle in the event's tile
_LISTED: Final = 0.05  # a region in the list of a keyword; most of its blocks are skipped
_AROUND: Final = 8.0  # ratio of the area of a rectangle's tiles to its own
_LOOK_UP: Final = 100.0  # for each pair of attributes, in an event that has both
_MEET: Final = 30.0  # a region and keywords that boxes and signatures do not rule out
_SECOND: Final = 200.0  # a second structure
_THIRD: Final = 5_000.0  # a third structure, whose keywords must be told apart again
_MERGE: Final = 0.5  # merging the results, as a share of their cost by access keys
_WORTH: Final = 0.8
"""Subscriptions are moved only if the cost falls below this share."""

MOST_PAIRS: Final = 32
"""The most pairs of attributes; those that save most are kept."""

_LEAST_SEEN: Final = 4
"""Fewer members of a pair in a sample do not show how many there are."""

_SEED: Final = 2004


BY_ACCESS, BY_RECTANGLE, BY_REGION = range(3)
"""The ways of finding a subscription."""


def deal(compiled: CompiledExpressions, statistics: Statistics | None) -> NDArray[np.uint8]:
    """(S,) the way for each. Cost: a pass over a sample if all stay under access keys, else half of building all."""
    ways = np.zeros(len(compiled), np.uint8)
    for way, choose in ((BY_REGION, _by_region), (BY_RECTANGLE, _by_rectangle)):
        left = np.flatnonzero(ways == BY_ACCESS).astype(np.int32)
        if len(left) >= FEWEST:
            whole = compiled if len(left) == len(compiled) else subset(compiled, left)
            ways[left[_sampled(choose, whole, statistics)]] = way
    return ways


_Choose: TypeAlias = "Callable[[CompiledExpressions, Statistics | None, float], NDArray[np.bool_]]"
"""Chooses the expressions that go one way; each stands for `weight` of them."""


def _sampled(choose: _Choose, compiled: CompiledExpressions, statistics: Statistics | None) -> NDArray[np.bool_]:
    """The expressions that go one way; none if a sample has none."""
    count = len(compiled)
    if count > SAMPLED:
        some = np.random.default_rng(_SEED).choice(np.arange(count, dtype=np.int32), SAMPLED, replace=False)
        if not choose(subset(compiled, np.sort(some)), statistics, count / SAMPLED).any():
            return np.zeros(count, bool)
    return choose(compiled, statistics, 1.0)


def _by_region(compiled: CompiledExpressions, statistics: Statistics | None, weight: float) -> NDArray[np.bool_]:
    """The expressions that cost less in the list of their rarest keyword."""
    result = np.zeros(len(compiled), bool)
    if not {codes.INTERSECTS, codes.ARRAY_SET} <= set(np.unique(compiled.arrays.leaf_kinds).tolist()):
        return result
    coded = Regions.of(compiled)
    chosen = coded.chosen
    able = np.flatnonzero(coded.suits & (chosen.boxes >= 0))
    if not len(able):
        return result
    prices = np.minimum(literal_prices(coded.expressions, statistics), 1.0)
    every = expected_costs(compiled, statistics)
    meets = prices[2 * chosen.boxes[able]] * np.where(chosen.others[able] > 0, _MEET + VERIFY, _MEET)
    saved = every[able] - prices[2 * chosen.keywords[able]] * (_LISTED + meets)
    moves = saved > (1.0 - _WORTH) * every[able]
    if moves.any() and weight * -saved[~moves].sum() < _THIRD:  # they cost a little more, but save a third structure
        moves[:] = True
    result[able] = moves
    if weight * saved[moves].sum() <= _SECOND + _MERGE * weight * every[~result].sum():
        result[:] = False
    return result


def _by_rectangle(compiled: CompiledExpressions, statistics: Statistics | None, weight: float) -> NDArray[np.bool_]:
    """The expressions whose rectangle is in a tile that few events lie in."""
    coded = Coded.of(compiled)
    axes = coded.chosen.axes.astype(np.int64)
    able = np.flatnonzero(axes[:, 0] >= 0)
    if not len(able):
        return np.zeros(len(compiled), bool)
    pairs, numbers = numbered(axes[able, 0] * len(coded.sizes) + axes[able, 1])
    present = _presence(coded, statistics, pairs // len(coded.sizes), pairs % len(coded.sizes))
    look = _AROUND * _COMPARE + np.where(coded.chosen.asks_more[able], VERIFY, TAKE)
    every = expected_costs(compiled, statistics)
    costs = every[able]
    saved = costs - present[numbers] * _areas(coded, able, statistics) * look
    moves = saved > (1.0 - _WORTH) * costs
    of_pairs = weight * np.bincount(numbers, saved * moves, len(pairs)) - present * _LOOK_UP
    of_pairs[np.bincount(numbers, moves, len(pairs)) < _LEAST_SEEN] = 0.0
    best = np.argsort(-of_pairs, kind="stable")[:MOST_PAIRS]
    best = best[of_pairs[best] > 0]
    result = np.zeros(len(compiled), bool)
    result[able] = moves & np.isin(numbers, best)
    if of_pairs[best].sum() <= _SECOND + _MERGE * weight * every[~result].sum():
        result[:] = False
    return result


def _presence(
    coded: Coded, statistics: Statistics | None, one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The share of events that have both of some axes."""
    compiled = coded.expressions
    named = named_attributes(compiled.arrays, len(compiled.attributes))
    shares = np.append(attribute_shares(compiled.attributes, named, statistics), 1.0)  # every event has the last axis
    owners = attributes_of(coded.axes)
    is_box = owners[one] == owners[other]
    present: NDArray[np.float64] = shares[owners[one]] * np.where(is_box, 1.0, shares[owners[other]])
    return present


def _areas(coded: Coded, able: NDArray[np.int64], statistics: Statistics | None) -> NDArray[np.float64]:
    """The share of the map that rectangles cover, in codes: where much is asked, much is assumed to happen.

    For boxes it is the share of sampled places in them, if places were sampled.
    """
    rectangles, axes = coded.chosen.rectangles[able].astype(np.int64), coded.chosen.axes[able]
    widths = (rectangles[:, RIGHT] - rectangles[:, LEFT] + 1) / coded.sizes[axes[:, 0]]
    heights = (rectangles[:, UPPER] - rectangles[:, LOWER] + 1) / coded.sizes[axes[:, 1]]
    areas: NDArray[np.float64] = widths * heights
    known, fields = {} if statistics is None else statistics.values, len(coded.axes.fields.kinds)
    for attribute in np.flatnonzero(coded.axes.places >= 0).tolist():
        values = known.get(coded.expressions.attributes[attribute])
        if values is not None and values.places is not None:
            own = np.flatnonzero(axes[:, 0] == fields + 2 * coded.axes.places[attribute])
            shares = values.places.shares(_boxes(coded.axes, attribute, rectangles[own]))
            areas[own] = np.maximum(shares, 0.5 / (values.places.events + 1))
    return areas


def _boxes(axes: Axes, attribute: int, rectangles: NDArray[np.int64]) -> NDArray[np.float64]:
    """(N, 4) the edges of rectangles that are boxes of an attribute."""
    first = 2 * int(axes.places[attribute])
    x, y = (axes.edges[axes.edge_starts[axis] : axes.edge_starts[axis + 1]] for axis in (first, first + 1))
    codes_of_edges = rectangles >> 1
    sides = [own[codes_of_edges[:, column]] for column, own in enumerate((x, y, x, y))]
    return numbers_of(np.stack(sides, axis=1))
