"""In which leaves of the map does each subscription lie? In those that the smallest box that it needs meets.

Shapes and circles are found by the boxes around them, so that who sends an event decides none of them.

The map is divided where half of the subscriptions lie on either side, by x and by y in turn, so that leaves hold about
as many (Bentley 1975). The outermost leaves have no end: every place lies in one.
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
    """The box that each expression needs. S expressions, A attributes."""

    attributes: list[str]  # (A,)
    places: NDArray[np.int64]  # (S,) the attribute that is to meet the box, -1 for none
    boxes: NDArray[np.float64]  # (S, 4) of a circle on the antimeridian it goes on beyond 180 degrees
    is_dead: NDArray[np.bool_]  # (S,) which match no event


class Leaves(NamedTuple):
    """Leaves of the map under boxes. N of them."""

    owners: NDArray[np.int64]  # (N,) the box
    leaves: NDArray[np.int32]  # (N,)


def regions_of(compiled: CompiledExpressions) -> Regions:
    """The smallest box that each outermost AND asks an attribute to meet; of a shape or a circle the box around it."""
    coded = Coded.of(with_boxes_around(compiled, goes_on=True))
    chosen, arrays = coded.chosen.boxes, coded.expressions.arrays
    able = np.flatnonzero(chosen >= 0)
    places, boxes = np.full(len(chosen), -1, np.int64), np.zeros((len(chosen), 4))
    places[able] = arrays.leaf_attributes[chosen[able]]
    boxes[able] = arrays.boxes[arrays.leaf_others[chosen[able]]]
    return Regions(coded.expressions.attributes, places, boxes, chosen == NEVER)


def divided(boxes: NDArray[np.float64], leaves: int) -> NDArray[np.float64]:
    """Where a map of so many leaves, a power of two, is split: each node into halves of the boxes' centres."""
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
    """The leaves that each box lies in, each once; what reaches beyond 180 degrees lies on the other side, too."""
    across = np.flatnonzero((boxes[:, 0] < _ANTIMERIDIAN) & (boxes[:, 2] > _ANTIMERIDIAN))
    under = leaves_under(splits, np.concatenate([boxes, boxes[across] - [360.0, 0.0, 360.0, 0.0]]))
    if not len(across):
        return under
    owners = np.concatenate([np.arange(len(boxes)), across])[under.owners]
    owners, leaves = np.unique(np.stack([owners, under.leaves]), axis=1)
    return Leaves(owners, leaves.astype(np.int32))


def leaves_under(splits: NDArray[np.float64], boxes: NDArray[np.float64]) -> Leaves:
    """The leaves that each box lies in."""
    boxes, ends, room = frozen(boxes, np.float64), np.zeros(len(boxes), np.int64), _FIRST_ROOM * len(boxes) + 64
    while True:
        out = np.empty(room, np.int32)
        count = leaves_of_boxes(splits, boxes, ends, out)
        if count >= 0:
            return Leaves(np.repeat(np.arange(len(boxes)), np.diff(ends, prepend=0)), out[:count])
        room *= 2


class LeafShares(NamedTuple):
    """How many events come to the leaves of the map. N keys of leaves."""

    keys: Hashes  # (N,)
    shares: NDArray[np.float64]  # (N,) of events

    def of(self, keys: Hashes) -> float:
        """The share of events that come to the leaves among some keys."""
        return min(float(self.shares[np.isin(self.keys, keys)].sum()), 1.0)


def shares_of_leaves(
    splits: NDArray[np.float64], places: Sequence[str], statistics: Statistics | None
) -> LeafShares | None:
    """Where events come on the map, by the histograms of these attributes; None where one of them has none."""
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
