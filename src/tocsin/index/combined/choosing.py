"""Which subscriptions are found by their rectangle? Those of which an event so looks at less than by access keys.

What each way costs is a share of events times nanoseconds, as for keys of several attributes (`access.schemas`): shares
are multiplied as if attributes were independent. A pair of attributes must save more than looking at its tiles takes in
every event that has both, and all pairs more than a second structure does. A sample of the subscriptions tells whether
any does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import numbered
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.subsets import subset
from tocsin.index.boolean.access.building import expected_costs
from tocsin.index.boolean.access.schemas import TAKE, VERIFY
from tocsin.index.fields.kernels.key_tables import named_attributes
from tocsin.index.rectangles.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.rectangles.rectangles import Coded, attributes_of
from tocsin.index.statistics import Statistics, attribute_shares

FEWEST: Final = 512
"""Of fewer subscriptions all lie under access keys."""

SAMPLED: Final = 16_384

# Nanoseconds, measured on maps of benchmark B2 (decision 0036).
_COMPARE: Final = 0.3  # a rectangle of the tile that an event lies in
_AROUND: Final = 8.0  # so many times its own area is what a rectangle's tiles cover
_LOOK_UP: Final = 100.0  # of each pair of attributes, in an event that has both
_SECOND: Final = 200.0  # another structure beside the first
_MERGE: Final = 0.5  # what both find in one order: of what finding it by access keys costs
_WORTH: Final = 0.8
"""Nothing is moved unless it takes so much less."""

MOST_PAIRS: Final = 32
"""Of attributes; the ones that save most are kept."""

_LEAST_SEEN: Final = 4
"""Of a sample fewer members of a pair say nothing of how many there are."""

_SEED: Final = 2004


def go_by_rectangle(compiled: CompiledExpressions, statistics: Statistics | None) -> NDArray[np.bool_]:
    """(S,) which expressions do. Cost: a pass over a sample where none does; else half of building both structures."""
    count = len(compiled)
    if count < FEWEST:
        return np.zeros(count, bool)
    if count > SAMPLED:
        some = np.random.default_rng(_SEED).choice(np.arange(count, dtype=np.int32), SAMPLED, replace=False)
        if not _chosen(subset(compiled, np.sort(some)), statistics, count / SAMPLED).any():
            return np.zeros(count, bool)
    return _chosen(compiled, statistics, 1.0)


def _chosen(compiled: CompiledExpressions, statistics: Statistics | None, weight: float) -> NDArray[np.bool_]:
    """Those of some expressions, each of which stands for `weight`."""
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
    saved = costs - present[numbers] * _areas(coded, able) * look
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


def _areas(coded: Coded, able: NDArray[np.int64]) -> NDArray[np.float64]:
    """What part of their map rectangles are, in codes: where much is asked much is thought to happen."""
    rectangles, axes = coded.chosen.rectangles[able].astype(np.int64), coded.chosen.axes[able]
    widths = (rectangles[:, RIGHT] - rectangles[:, LEFT] + 1) / coded.sizes[axes[:, 0]]
    heights = (rectangles[:, UPPER] - rectangles[:, LOWER] + 1) / coded.sizes[axes[:, 1]]
    areas: NDArray[np.float64] = widths * heights
    return areas
