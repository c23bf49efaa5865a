"""The `Ranker` protocol, which answers "the best first": scored intervals, returned in order of score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.index.scored.intervals import ScoredIntervals


class BestPlaces(NamedTuple):
    """The best intervals of each query, best first, in CSR form. Q queries, M places."""

    starts: NDArray[np.int64]  # (Q + 1,) query q has places[starts[q]:starts[q + 1]]
    places: NDArray[np.int32]  # (M,) rank among the intervals of the query's group, counted through all groups
    examined: int  # intervals examined


class Ranker(Protocol):
    """Returns the scored intervals that a value stabs in order of score. Immutable; threads may share it.

    Values are rank codes of a group. An interval's place leads to its score and its owner.
    """

    structure: Any  # its arrays, which `index.scored.kernels.cursors` walks
    starts: NDArray[np.int64]  # (G + 1,) places [starts[g], starts[g + 1]) are group g's
    scores: NDArray[np.float64]  # (N,) by place
    owners: NDArray[np.int32]  # (N,)
    arrangement: NDArray[np.int32] | None
    """The arrangement that took longest to compute, to pass to a builder again; None if there is none."""

    def new_state(self) -> NDArray[np.int64]:
        """Memory for a cursor in kernels."""

    def cursor(self, group: int, code: int) -> Iterator[int]:
        """The places of the intervals that a code stabs in a group, best first; ties by owner."""

    def best(self, groups: NDArray[np.int32], codes: NDArray[np.int32], k: int) -> BestPlaces:
        """The first k places of each query's cursor."""

    def sizes(self) -> Mapping[str, int]:
        """Bytes by purpose."""


class RankerBuilder(Protocol):
    """Makes a `Ranker` from intervals."""

    def build(self, intervals: ScoredIntervals, arrangement: NDArray[np.int32] | None = None) -> Ranker:
        """Build over intervals in order of score. Cost: O(n log n), unless a known arrangement is given.

        Raises `ValueError` for an arrangement that does not fit the intervals.
        """
