"""The order of a new subscription's tokens, by their current frequencies.

Source: Yu et al. 2015, section 4.2, Updates: earlier subscriptions keep their order. Departs: df is the current
frequency, without the greedy cover.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.spatial_text.kernels.layouts import Regions
from tocsin.papers.location_aware.rt_trees.ordering import CELLS, DF, LOCALITY, RANDOM


class Frequencies:
    """The frequencies of tokens, in total and in each cell of a grid over all regions that may be inserted."""

    def __init__(self, regions: Regions, tokens: int, selection: int) -> None:
        self._selection = selection
        self._counts = np.zeros(tokens, np.int64)
        self._near: Counter[tuple[int, int]] = Counter()
        self._grid = _Grid.around(regions.boxes)
        self._cells = self._grid.cells_of(regions)
        self._random = np.random.default_rng(1)

    def provide(self, regions: Regions, tokens: int) -> None:
        """Let more subscriptions be counted. Their cells are those of the grid around the first ones."""
        more = np.zeros(max(tokens - len(self._counts), 0), np.int64)
        self._counts = np.concatenate([self._counts, more])
        later = regions._replace(owners=regions.owners[len(self._cells) :], boxes=regions.boxes[len(self._cells) :])
        self._cells = np.concatenate([self._cells, self._grid.cells_of(later)])

    def ordered(self, number: int, tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """The tokens of a subscription in the current order; ties go to the lower token."""
        if self._selection == RANDOM:
            return tokens[self._random.permutation(len(tokens))]
        counts = self._counts[tokens]
        if self._selection == LOCALITY:
            cell = int(self._cells[number])
            near = np.array([self._near[cell, token] for token in tokens.tolist()])
            return tokens[np.lexsort((counts, near))]
        return tokens[np.argsort(-counts if self._selection == DF else counts, kind="stable")]

    def add(self, number: int, tokens: NDArray[np.int32], by: int) -> None:
        """Count a subscription that is inserted (1) or deleted (-1)."""
        self._counts[tokens] += by
        cell = int(self._cells[number])
        for token in tokens.tolist():
            self._near[cell, token] += by
            if not self._near[cell, token]:
                del self._near[cell, token]


class _Grid(NamedTuple):
    """A grid around the centres of some boxes."""

    lows: NDArray[np.float64]  # (2,)
    highs: NDArray[np.float64]  # (2,)

    @classmethod
    def around(cls, boxes: NDArray[np.float64]) -> _Grid:
        middles = _middles(boxes)
        return cls(middles.min(axis=0, initial=0), middles.max(axis=0, initial=0))

    def cells_of(self, regions: Regions) -> NDArray[np.int64]:
        """(S,) the cell of each box's centre, by attribute; the nearest one for a centre outside."""
        parts = (_middles(regions.boxes) / 2 - self.lows / 2) / np.maximum(self.highs / 2 - self.lows / 2, 1e-300)
        columns, rows = (np.clip(parts, 0, 1) * (CELLS - 1)).astype(np.int64).T
        found: NDArray[np.int64] = (regions.owners.astype(np.int64) * CELLS + rows) * CELLS + columns
        return found


def _middles(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([boxes[:, LEFT] / 2 + boxes[:, RIGHT] / 2, boxes[:, LOWER] / 2 + boxes[:, UPPER] / 2], axis=1)
