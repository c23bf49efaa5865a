"""What answers "the best first"? A `Ranker`: scored intervals under a structure, given in order of score."""

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
    examined: int  # intervals looked at


class Ranker(Protocol):
    """Gives the scored intervals that a value stabs in order of score. Immutable, safe to share between threads.

    Values are rank codes of a group; an interval's place leads to its score and its owner.
    """

    structure: Any  # its arrays, which `index.scored.kernels.cursors` walks
    starts: NDArray[np.int64]  # (G + 1,) places [starts[g], starts[g + 1]) are group g's
    scores: NDArray[np.float64]  # (N,) by place
    owners: NDArray[np.int32]  # (N,)
    arrangement: NDArray[np.int32] | None
    """What took longest to find of it, for a builder to be given again; None where nothing did."""

    def new_state(self) -> NDArray[np.int64]:
        """Room for a cursor in kernels."""

    def cursor(self, group: int, code: int) -> Iterator[int]:
        """The places of what a code stabs in a group, best first; ties by owner."""

    def best(self, groups: NDArray[np.int32], codes: NDArray[np.int32], k: int) -> BestPlaces:
        """The first k of each query's cursor."""

    def sizes(self) -> Mapping[str, int]:
        """Bytes by what they are for."""


class RankerBuilder(Protocol):
    """Makes a `Ranker` of intervals."""

    def build(self, intervals: ScoredIntervals, arrangement: NDArray[np.int32] | None = None) -> Ranker:
        """Of intervals in order of score. Cost: O(n log n), where no arrangement is given that was found before.

        Raises `ValueError` for one that is none of these intervals.
        """
