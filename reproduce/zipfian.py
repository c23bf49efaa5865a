"""The Zipfian generator of ranked subscriptions of Machanavajjhala et al. 2008, section 4.

The space [0, 1)^d is a grid of cells. Points gather in regions, which are boxes of cells. The first regions get the
most points, and within a region the cells nearest to its centre. Queries are such points; subscriptions are boxes
around them.

Departs: a region's sides are whole cells, so its volume may miss the bounds by a percent (or by as much as the nearest
of 64 shapes misses). Cells equally far from the centre share the weights of their ranks. In a region of more than
65,536 cells, only those around the centre are all ranked. Further out, each shell twice as wide as the one before is
sampled. A drawn cell stands for as many ranks as there are cells per draw, and is mirrored at random. So distances are
distributed as for all cells, up to about 8 dimensions, and the cells of a shell are uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Random = np.random.Generator
Floats = NDArray[np.float64]

_SHAPES = 64
_TOLERANCE = 1.01
_MOST_CELLS = 1 << 16
_SUMMED = 1024


@dataclass(frozen=True, slots=True)
class Boxes:
    """Subscriptions: an interval [low, high] and a score in each dimension. N subscriptions, d dimensions."""

    lows: Floats  # (N, d)
    highs: Floats  # (N, d)
    scores: Floats  # (N, d)


@dataclass(frozen=True, slots=True)
class Region:
    """A box of cells, and some of the cells, as offsets from the box's centre in half cells. M cells."""

    first: NDArray[np.int64]  # (d,) its lowest cell
    sides: NDArray[np.int64]  # (d,) its width in cells
    offsets: NDArray[np.int64]  # (M, d)
    weights: Floats  # (M,)


@dataclass(frozen=True, slots=True)
class Points:
    """The source of points: regions, and how points are distributed to them."""

    cells: NDArray[np.int64]  # (d,) c_i
    regions: tuple[Region, ...]
    skew_across: float

    @classmethod
    def of(
        cls,
        random: Random,
        *,
        dimensions: int = 1,
        cells: int | tuple[int, ...] = 100,
        regions: int = 10,
        least_share: float = 0.05,
        most_share: float = 0.05,
        skew_across: float = 0.0,
        skew_within: float = 1.0,
    ) -> Points:
        """With the defaults of Table 1: d, c_i, n_regions, v_min and v_max (as shares of all cells), both skews."""
        sizes = np.broadcast_to(np.asarray(cells, np.int64), dimensions)
        shares = (least_share, most_share)
        return cls(sizes, tuple(_region(random, sizes, shares, skew_within) for _ in range(regions)), skew_across)

    def draw(self, random: Random, count: int) -> Floats:
        """(count, d) points of [0, 1)^d, uniform within their cells."""
        homes = zipfian(random, count, len(self.regions), self.skew_across)
        points = random.random((count, len(self.cells)))
        for number, region in enumerate(self.regions):
            own = np.flatnonzero(homes == number)
            offsets = region.offsets[draw_places(random, len(own), region.weights)]
            offsets *= random.choice((-1, 1), offsets.shape)
            points[own] += region.first + (offsets + region.sides - 1) // 2
        return points / self.cells

    def draw_boxes(self, random: Random, count: int, skew_length: float = 0.75) -> Boxes:
        """Subscriptions [x - l, x + l] around points x, with score 1 - l in each dimension.

        Lengths l are in (0, 1], in c_i classes of equal width. The class is drawn by Zipf with `skew_length`, the
        shortest most often, so a higher skew means less overlap. Within a class the length is uniform. The paper says
        only that the distribution is Zipf's. Boxes may extend beyond [0, 1]^d.
        """
        middles = self.draw(random, count)
        classes = [zipfian(random, count, int(size), skew_length) for size in self.cells]
        lengths = (np.stack(classes, axis=1) + 1 - random.random(middles.shape)) / self.cells
        return Boxes(middles - lengths, middles + lengths, 1 - lengths)


def short_boxes(random: Random, count: int, dimensions: int = 1, mean_length: float = 1e-4) -> Boxes:
    """Intervals of exponential length, anywhere in [0, 1), with random scores; the paper does not try these."""
    lows = random.random((count, dimensions))
    return Boxes(lows, lows + random.exponential(mean_length, lows.shape), random.random(lows.shape))


def zipfian(random: Random, count: int, among: int, exponent: float) -> NDArray[np.int64]:
    """Numbers below `among`, the lowest ones most often; uniform if the exponent is 0."""
    return draw_places(random, count, np.arange(1, among + 1, dtype=float) ** -exponent)


def draw_places(random: Random, count: int, weights: Floats) -> NDArray[np.int64]:
    """Places, each drawn with a probability proportional to its weight."""
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, random.random(count)), len(weights) - 1)


def _region(random: Random, cells: NDArray[np.int64], shares: tuple[float, float], skew_within: float) -> Region:
    """A box with a volume within the bounds, anywhere on the grid."""
    least, most = (max(share * np.prod(cells.astype(float)), 1.0) for share in shares)
    nearest, sides = np.inf, cells
    for _ in range(_SHAPES):
        shape = _shape(random, cells, random.uniform(least, most))
        volume = np.prod(shape.astype(float))
        off = max(least / volume, volume / most)
        if off < nearest:
            nearest, sides = off, shape
        if nearest <= _TOLERANCE:
            break
    offsets, counts = _cells_outwards(random, sides)
    return Region(random.integers(cells - sides + 1), sides, offsets, _weights(offsets, counts, skew_within))


def _shape(random: Random, cells: NDArray[np.int64], volume: float) -> NDArray[np.int64]:
    """Sides of about that volume. In random order, each is log-uniform in the range that the others leave."""
    sides = np.ones(len(cells), np.int64)
    order = random.permutation(len(cells))
    for i, dimension in enumerate(order):
        low = max(volume / np.prod(cells[order[i + 1 :]].astype(float)), 1.0)
        high = max(min(cells[dimension], volume), low)
        side = round(np.exp(random.uniform(np.log(low), np.log(high))))
        sides[dimension] = min(max(side, 1), cells[dimension])
        volume = max(volume / sides[dimension], 1.0)
    return sides


def _cells_outwards(random: Random, sides: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """Offsets of cells from the centre, in half cells, and the number of cells that each stands for.

    A shell consists of the cells within a cube around the centre, but outside the ball inscribed in the next smaller
    cube.
    """
    offsets, counts = [], []
    reach, outer = int(sides.max()) - 1, np.inf
    while True:
        within = np.minimum(sides - 1, reach - (reach + sides - 1) % 2)
        volume = np.prod(within + 1.0)
        if volume <= _MOST_CELLS:
            each = [np.arange(-most, most + 1, 2) for most in within.tolist()]
            shell = np.stack(np.meshgrid(*each, indexing="ij"), axis=-1).reshape(-1, len(sides))
            inner, stands_for = -1, 1.0
        else:
            shell = 2 * random.integers(within + 1, size=(_MOST_CELLS, len(sides))) - within
            inner, stands_for = reach // 2, volume / _MOST_CELLS
        distance = np.sqrt((shell**2).sum(axis=1))
        kept = shell[(distance > inner) & (distance <= outer)]
        offsets.append(kept)
        counts.append(np.full(len(kept), stands_for))
        if inner < 0:
            return np.concatenate(offsets), np.concatenate(counts)
        reach, outer = inner, inner


def _weights(offsets: NDArray[np.int64], counts: Floats, skew: float) -> Floats:
    """The weight of each cell, by Zipf over ranks of distance; cells equally far share the weights of their ranks."""
    _, groups = np.unique((offsets**2).sum(axis=1), return_inverse=True)
    sizes = np.bincount(groups, counts)
    masses = np.diff(_mass(np.concatenate([[0.0], np.cumsum(sizes)]), skew))
    return (masses / sizes)[groups] * counts


def _mass(ranks: Floats, skew: float) -> Floats:
    """The sum of j ** -skew for j from 1 to each rank: summed at first, then as an integral."""
    summed = np.concatenate([[0.0], np.cumsum(np.arange(1.0, _SUMMED + 1) ** -skew)])
    begin, end = _SUMMED + 0.5, np.maximum(ranks, _SUMMED) + 0.5
    beyond = np.log(end / begin) if skew == 1 else (end ** (1 - skew) - begin ** (1 - skew)) / (1 - skew)
    return np.interp(ranks, np.arange(_SUMMED + 1), summed) + beyond


def attribute_sets(
    random: Random, sizes: NDArray[np.int64], attributes: int, exponent: float
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sets of distinct attributes of given sizes in CSR form."""
    return weighted_sets(random, sizes, np.arange(1, attributes + 1, dtype=float) ** -exponent)


def weighted_sets(
    random: Random, sizes: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sets of places, each drawn with a probability proportional to its weight."""
    sizes = np.minimum(sizes, len(weights))
    return distinct_sets(sizes, lambda slots: draw_places(random, len(slots), weights))


def distinct_sets(
    sizes: NDArray[np.int64], draw: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sets of given sizes in CSR form. `draw` fills slots by number; slots with duplicates are drawn again."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owners = np.repeat(np.arange(len(sizes)), sizes)
    chosen = np.zeros(len(owners), np.int64)
    again = np.ones(len(owners), bool)
    while again.any():
        chosen[again] = draw(np.flatnonzero(again))
        order = np.lexsort([chosen, owners])
        again[:] = False
        again[order[1:]] = (owners[order[1:]] == owners[order[:-1]]) & (chosen[order[1:]] == chosen[order[:-1]])
    return starts, chosen.astype(np.int32)
