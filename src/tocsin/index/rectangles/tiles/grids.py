"""Choice of grids: rectangles of similar size share a grid. An event visits every grid, at a cost.

The work of an event is estimated as if events were spread evenly in rank codes, in which a crowded part of the map is
wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import RIGHT

VISIT: Final = 30.0
"""The cost of visiting a grid, in entries compared."""

ORDERING: Final = 8.0
"""The extra cost of a match, in entries compared, if matches of several grids must be sorted."""

MOST_ENTRIES: Final = 12.0
"""The most tiles that rectangles of a grid may lie in, on average."""

TILES_A_RECTANGLE: Final = 4
FEWEST_TILES: Final = 256
"""A grid has at most TILES_A_RECTANGLE tiles for each rectangle, but is always allowed FEWEST_TILES."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The sides of its tiles, as powers of two, and its rectangles: their positions among those given."""

    shift_x: int
    shift_y: int
    places: NDArray[np.int64]


def choose_grids(rectangles: NDArray[np.int32], sizes: tuple[int, int]) -> list[Grid]:
    """Grids for some rectangles (LEFT .. UPPER) on axes of that many codes. Cost: linear, except for few sizes.

    Sizes of rectangles are taken in turn, the most frequent first. Each joins the grid where it costs least, or gets
    its own. If one grid for all costs less in the end, it is chosen, because matches in one tile are already in order.
    """
    if not len(rectangles):
        return []
    widths = (rectangles[:, RIGHT:] - rectangles[:, :RIGHT] + 1).T
    levels = np.stack([_bit_lengths(own) for own in widths], axis=1)
    _, numbers, counts = np.unique(levels[:, 0] * 64 + levels[:, 1], return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(numbers, own) / counts for own in widths], axis=1)
    chosen: list[list[int]] = []
    for kind in np.argsort(-counts, kind="stable").tolist():
        costs = [_cost([*own, kind], counts, means, sizes)[0] - _cost(own, counts, means, sizes)[0] for own in chosen]
        alone = _cost([kind], counts, means, sizes)[0]
        if costs and min(costs) < alone:
            chosen[int(np.argmin(costs))].append(kind)
        else:
            chosen.append([kind])
    together = sorted(number for own in chosen for number in own)
    matches = float((counts * means.prod(axis=1)).sum()) / (sizes[0] * sizes[1])
    apart = sum(_cost(own, counts, means, sizes)[0] for own in chosen) + ORDERING * matches
    if _cost(together, counts, means, sizes)[0] <= apart:
        chosen = [together]
    grids = []
    for own in chosen:
        _, shift_x, shift_y = _cost(own, counts, means, sizes)
        grids.append(Grid(shift_x, shift_y, np.flatnonzero(np.isin(numbers, own))))
    return grids


def _cost(
    kinds: list[int], counts: NDArray[np.int64], means: NDArray[np.float64], sizes: tuple[int, int]
) -> tuple[float, int, int]:
    """The cost of an event in the best grid for rectangles of some sizes, in entries; and that grid's tiles."""
    own = counts[kinds].astype(float)
    tops = [int(size - 1).bit_length() for size in sizes]
    sides = [2.0 ** np.arange(top + 1) for top in tops]
    spans = [own_means[:, None] / side + 1 for own_means, side in zip(means[kinds].T, sides, strict=True)]
    tiles = [np.floor((size - 1) / side) + 1 for size, side in zip(sizes, sides, strict=True)]
    spans = [np.minimum(span, count) for span, count in zip(spans, tiles, strict=True)]
    entries = np.einsum("k,kx,ky->xy", own, *spans)
    count = tiles[0][:, None] * tiles[1][None, :]
    cost = VISIT + entries / count
    allowed = (entries <= MOST_ENTRIES * own.sum()) & (count <= max(TILES_A_RECTANGLE * own.sum(), FEWEST_TILES))
    cost = np.where(allowed, cost, np.inf)
    x, y = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return float(cost[x, y]), int(x), int(y)


def _bit_lengths(numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """The number of bits of a positive number."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
