"""The leaves of the map that each subscription lies in: those that the smallest box it requires meets.

Shapes and circles are replaced by the boxes around them, so that the sender of events evaluates none of them.

The map is divided at the median of the subscriptions, by x and by y in turn, so that leaves have similar sizes (Bentley
1975). The outermost leaves are unbounded, so every place is in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.filtering.boxes import with_boxes_around
from tocsin.index.spatial_text.kernels.choosing import NEVER
from tocsin.index.spatial_text.regions import Coded
from tocsin.index.statistics import Statistics
from tocsin.placement.hashing import Hashes, hashes_of, keys_of
from tocsin.placement.kernels.keys import LEAF
from tocsin.placement.kernels.leaves import leaves_of_boxes

_FIRST_ROOM: Final = 4
_ANTIMERIDIAN: Final = 180.0


class Regions(NamedTuple):
    """The box that each expression requires. S expressions, A attributes."""

    attributes: list[str]  # (A,)
    places: NDArray[np.int64]  # (S,) the attribute that must meet the box, -1 if there is none
    boxes: NDArray[np.float64]  # (S, 4); of a circle on the antimeridian it extends beyond 180 degrees
    is_dead: NDArray[np.bool_]  # (S,) which match no event


class Leaves(NamedTuple):
    """The leaves of the map that boxes meet. N of them."""

    owners: NDArray[np.int64]  # (N,) the box
    leaves: NDArray[np.int32]  # (N,)


def regions_of(compiled: CompiledExpressions) -> Regions:
    """The smallest box that each outermost AND requires of an attribute; for a shape or circle, its bounding box."""
    coded = Coded.of(with_boxes_around(compiled, goes_on=True))
    chosen, arrays = coded.chosen.boxes, coded.expressions.arrays
    able = np.flatnonzero(chosen >= 0)
    places, boxes = np.full(len(chosen), -1, np.int64), np.zeros((len(chosen), 4))
    places[able] = arrays.leaf_attributes[chosen[able]]
    boxes[able] = arrays.boxes[arrays.leaf_others[chosen[able]]]
    return Regions(coded.expressions.attributes, places, boxes, chosen == NEVER)


def divided(boxes: NDArray[np.float64], leaves: int) -> NDArray[np.float64]:
    """The splits of a map with `leaves` leaves (a power of two): each node at the median of the boxes' centres."""
    splits = np.zeros(leaves - 1)
    _split(splits, 0, 0, (boxes[:, :2] + boxes[:, 2:]) / 2)
    return frozen(splits, np.float64)


def _split(splits: NDArray[np.float64], node: int, axis: int, centres: NDArray[np.float64]) -> None:
    if node >= len(splits):
        return
    own = centres[:, axis]
    splits[node] = at = float(np.median(own)) if len(own) else 0.0
    _split(splits, 2 * node + 1, 1 - axis, centres[own <= at])
    _split(splits, 2 * node + 2, 1 - axis, centres[own > at])


def leaves_of_regions(splits: NDArray[np.float64], boxes: NDArray[np.float64]) -> Leaves:
    """The distinct leaves that each box meets; a part beyond 180 degrees continues on the other side."""
    across = np.flatnonzero((boxes[:, 0] <= _ANTIMERIDIAN) & (boxes[:, 2] > _ANTIMERIDIAN))
    under = leaves_under(splits, np.concatenate([boxes, boxes[across] - [360.0, 0.0, 360.0, 0.0]]))
    if not len(across):
        return under
    owners = np.concatenate([np.arange(len(boxes)), across])[under.owners]
    owners, leaves = np.unique(np.stack([owners, under.leaves]), axis=1)
    return Leaves(owners, leaves.astype(np.int32))


def leaves_under(splits: NDArray[np.float64], boxes: NDArray[np.float64]) -> Leaves:
    """The leaves that each box meets."""
    boxes, ends, room = frozen(boxes, np.float64), np.zeros(len(boxes), np.int64), _FIRST_ROOM * len(boxes) + 64
    while True:
        out = np.empty(room, np.int32)
        count = leaves_of_boxes(splits, boxes, ends, out)
        if count >= 0:
            return Leaves(np.repeat(np.arange(len(boxes)), np.diff(ends, prepend=0)), out[:count])
        room *= 2


class LeafShares(NamedTuple):
    """The share of events in the leaves of the map. N keys of leaves."""

    keys: Hashes  # (N,)
    shares: NDArray[np.float64]  # (N,) of events

    def of(self, keys: Hashes) -> float:
        """The share of events in the leaves among some keys."""
        return min(float(self.shares[np.isin(self.keys, keys)].sum()), 1.0)


def shares_of_leaves(
    splits: NDArray[np.float64], places: Sequence[str], statistics: Statistics | None
) -> LeafShares | None:
    """The distribution of events on the map, from the attributes' histograms; None if one is missing."""
    values = [None if statistics is None else statistics.values.get(name) for name in places]
    known = [one.places for one in values if one is not None and one.places is not None]
    if statistics is None or not known or len(known) < len(places):
        return None
    keys, shares = list[Hashes](), list[NDArray[np.float64]]()
    for number, (name, histogram) in enumerate(zip(places, known, strict=True)):
        under = leaves_under(splits, np.tile(histogram.centres(), 2))
        weights = histogram.counts[under.owners] * statistics.share(name) / max(histogram.events, 1)
        keys.append(keys_of_leaves(list(places), np.full(len(under.leaves), number), under.leaves))
        shares.append(weights / np.bincount(under.owners)[under.owners])
    return LeafShares(np.concatenate(keys), np.concatenate(shares))


def keys_of_leaves(attributes: list[str], places: NDArray[np.int64], leaves: NDArray[np.int32]) -> Hashes:
    """The keys of leaves, each of an attribute's map."""
    kinds = np.full(len(leaves), LEAF, np.int64)
    return keys_of(hashes_of(attributes)[places], kinds, leaves.astype(np.uint64))
