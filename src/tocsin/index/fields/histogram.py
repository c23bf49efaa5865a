"""Histograms of sampled places on the cells of a grid, for the share of places in a box.

Grids are those of `kernels.cells`, whose squares have powers of two for sides. Four cells of one grid make a cell of
the next, so histograms of several samples are added exactly. A box counts the part of each cell that it covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.index.fields.kernels.cells import BIAS

MOST_CELLS: Final = 4096
FINEST: Final = BIAS - 20
COARSEST: Final = BIAS + 60
_MOST: Final = 2**30
"""The greatest number of a column or row, on both sides of 0."""
_FARTHEST: Final = 2.0**40
_SUMMED: Final = 1 << 18
"""The most corners of cells with sums; if there are more, cells are enlarged."""
_USUAL: Final = 0.99
"""The share of places that the grid must reach; places farther out may be left out."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of places by cell. C cells of one grid, by column and row."""

    level: int  # level of the grid: a cell's side is 2 ** (level - BIAS)
    cells: NDArray[np.int64]  # (C, 2) column and row, ascending, distinct
    counts: NDArray[np.int64]  # (C,)
    events: int  # number of places, including those in no cell

    @classmethod
    def of(cls, boxes: NDArray[np.float64]) -> Histogram:
        """Count places at the centres of boxes, on the finest grid that needs at most `MOST_CELLS`."""
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        centres = centres[(np.abs(centres) < _FARTHEST).all(axis=1)]
        farthest = np.quantile(np.abs(centres).max(axis=1), _USUAL, method="higher") if len(centres) else 0.0
        reaching = int(np.ceil(np.log2(max(farthest, 1e-9) / _MOST))) + BIAS
        level = min(max(FINEST, reaching), COARSEST)
        at = np.floor(np.ldexp(centres, BIAS - level))
        at = at[(np.abs(at) < _MOST).all(axis=1)].astype(np.int64)
        return cls(level, at, np.ones(len(at), np.int64), len(boxes)).coarsened(level)

    def coarsened(self, level: int) -> Histogram:
        """The histogram on that or a coarser grid, so that there are at most `MOST_CELLS`."""
        while True:
            cells, counts = _added(self.cells >> (level - self.level), self.counts)
            if len(cells) <= MOST_CELLS or level == COARSEST:
                return Histogram(level, frozen(cells, np.int64), frozen(counts, np.int64), self.events)
            level += 1

    def centres(self) -> NDArray[np.float64]:
        """(C, 2) the centre of each cell."""
        centres: NDArray[np.float64] = np.ldexp(self.cells + 0.5, self.level - BIAS)
        return centres

    def shares(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N,) the share of places in each box, (N, 4). Cost: sums over the cells, then four look-ups a box."""
        sums = _Sums.of(self)
        left, lower, right, upper = boxes.T
        found = sums.below(right, upper) - sums.below(left, upper) - sums.below(right, lower) + sums.below(left, lower)
        shares: NDArray[np.float64] = np.clip(found / max(self.events, 1), 0.0, 1.0)
        return shares


def added(several: Sequence[Histogram]) -> Histogram:
    """The sum of several histograms, on the coarsest of their grids or a coarser one.

    >>> one, other = Histogram.of(np.zeros((2, 4))), Histogram.of(np.array([[9.0, 9.0, 9.0, 9.0]]))
    >>> whole = added([one, other])
    >>> whole.events, whole.counts.tolist()
    (3, [2, 1])
    """
    level = max(one.level for one in several)
    cells = np.concatenate([one.cells >> (level - one.level) for one in several])
    counts = np.concatenate([one.counts for one in several])
    return Histogram(level, cells, counts, sum(one.events for one in several)).coarsened(level)


def _added(cells: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct cells, with the sum of their counts."""
    order = np.lexsort((cells[:, 1], cells[:, 0]))
    cells, counts = cells[order], counts[order]
    firsts = np.flatnonzero((np.diff(cells, axis=0, prepend=cells[:1] - 1) != 0).any(axis=1))
    return cells[firsts], np.add.reduceat(counts, firsts) if len(firsts) else counts


class _Sums(NamedTuple):
    """A summed-area table (Crow 1984) over the edges of non-empty cells. X edges by x, Y by y."""

    xs: NDArray[np.float64]  # (X,)
    ys: NDArray[np.float64]  # (Y,)
    sums: NDArray[np.float64]  # (X, Y) number of places left of and below each crossing

    @classmethod
    def of(cls, counted: Histogram) -> _Sums:
        while True:
            xs, ys = (np.union1d(own, own + 1) for own in counted.cells.T)
            if len(xs) * len(ys) <= _SUMMED or counted.level == COARSEST:
                break
            counted = counted.coarsened(counted.level + 1)
        sums = np.zeros((len(xs), len(ys)))
        columns, rows = counted.cells.T
        sums[np.searchsorted(xs, columns) + 1, np.searchsorted(ys, rows) + 1] = counted.counts
        side = float(np.ldexp(1.0, counted.level - BIAS))
        return cls(xs * side, ys * side, sums.cumsum(axis=0).cumsum(axis=1))

    def below(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number of places left of x and below y; those of a cell are assumed evenly spread."""
        if len(self.xs) < 2:
            return np.zeros(len(x))
        (i, right), (j, upper) = _between(self.xs, x), _between(self.ys, y)
        low = self.sums[i, j] * (1 - upper) + self.sums[i, j + 1] * upper
        high = self.sums[i + 1, j] * (1 - upper) + self.sums[i + 1, j + 1] * upper
        found: NDArray[np.float64] = low * (1 - right) + high * right
        return found


def _between(edges: NDArray[np.float64], at: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each number: the first of the two edges around it, and the fraction of the way to the second."""
    first = np.clip(np.searchsorted(edges, at, "right") - 1, 0, len(edges) - 2)
    begin = edges[first]
    return first, np.clip((at - begin) / (edges[first + 1] - begin), 0.0, 1.0)
