"""The Ranker shared by all scored interval indexes: a structure of arrays, and a cursor over it.

Each folder beside this file builds one structure, and registers with `index.scored.kernels.cursors` how it is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.index.protocols import THE_BEST_FIRST, Registration
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.kernels.cursors import Queries, Ranges, begin_cursor, best_places, move_cursor, state_width
from tocsin.index.scored.ranker import BestPlaces
from tocsin.index.tables import bytes_of_table

Make: TypeAlias = Callable[[Ranges, int], Any]
"""Makes a structure over intervals, with a branching factor if it has one: a registered NamedTuple of arrays."""

BRANCHING: Final = 32
"""Entries of a node. The paper uses 50; 32 are as fast and fill two cache lines."""
MOST_BRANCHING: Final = 4096


class Arranging(NamedTuple):
    """The part of a structure that takes longest to compute: the order of its intervals."""

    order_of: Callable[[Any], NDArray[np.int32]]
    again: Callable[[Ranges, int, NDArray[np.int32]], Any]  # raises `ValueError` for an invalid order


@dataclass(frozen=True, slots=True)
class TreeBuilder:
    """Builds one kind of structure. Raises `InvalidInput` for an invalid branching factor."""

    make: Make
    branching: int = BRANCHING
    arranging: Arranging | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.branching <= MOST_BRANCHING:
            raise InvalidInput(f"branching is {self.branching}; a node has 2 to {MOST_BRANCHING} entries")

    def build(self, intervals: ScoredIntervals, arrangement: NDArray[np.int32] | None = None) -> ScoredTree:
        """Cost: O(n log n) for n intervals; linear if their arrangement is given."""
        if self.arranging is None:
            return ScoredTree(intervals, self.make(intervals.ranges, self.branching))
        if arrangement is None:
            made = self.make(intervals.ranges, self.branching)
        else:
            made = self.arranging.again(intervals.ranges, self.branching, arrangement)
        return ScoredTree(intervals, made, self.arranging.order_of(made))


def of_intervals(
    name: str, make: Make, source: str, *, is_baseline: bool = True, arranging: Arranging | None = None, **options: int
) -> Registration:
    """The registration of a structure of scored intervals."""
    builder = partial(TreeBuilder, make, arranging=arranging)
    shapes = "attributes compared with constants, each a dimension; access finds the other subscriptions"
    return Registration(name, THE_BEST_FIRST, shapes, source, is_baseline, builder, options)


class ScoredTree:
    """The Ranker over one structure. Immutable; threads may share it."""

    def __init__(
        self, intervals: ScoredIntervals, structure: Any, arrangement: NDArray[np.int32] | None = None
    ) -> None:
        self.scores = intervals.scores
        self.owners = intervals.owners
        self.starts = intervals.ranges.starts
        self.structure = structure
        self.arrangement = arrangement
        self._last = intervals.ranges.last
        self._width = state_width(structure)

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self._last)

    def new_state(self) -> NDArray[np.int64]:
        """Memory for a cursor."""
        return np.zeros(self._width, np.int64)

    def cursor(self, group: int, code: int) -> Iterator[int]:
        """The places of the intervals of a group that a code stabs, best first, one by one."""
        state = self.new_state()
        if 0 <= code <= self._last[group]:
            begin_cursor(self.structure, group, code, state)
            while (place := int(move_cursor(self.structure, code, state))) >= 0:
                yield place

    def best(self, groups: NDArray[np.int32], codes: NDArray[np.int32], k: int) -> BestPlaces:
        """The k best places of each query: a group and a code, which is negative for a value that stabs nothing.

        Raises `InvalidInput` for an unknown group or code. The cost depends on the structure; see its file.
        """
        return best_of(self.structure, self._last, min(k, max(len(self), 1)), self.new_state(), groups, codes)

    def sizes(self) -> dict[str, int]:
        """Bytes of the structure, and of its scores and owners."""
        return {"structure": bytes_of_table(self.structure), "scores": self.scores.nbytes + self.owners.nbytes}


def best_of(
    structure: Any,
    last: NDArray[np.int64],
    k: int,
    state: NDArray[np.int64],
    groups: NDArray[np.int32],
    codes: NDArray[np.int32],
) -> BestPlaces:
    """`Ranker.best` for a structure; group g has the codes 0 to last[g]."""
    if len(groups) and not (groups.min() >= 0 and groups.max() < len(last) and (codes <= last[groups]).all()):
        raise InvalidInput(f"there are {len(last)} groups, each with codes from 0 to its last one")
    ends = np.zeros(len(codes) + 1, np.int64)
    out = np.empty(len(codes) * k, np.int32)
    examined = best_places(structure, Queries(groups, codes, state, ends[1:], out), k)
    return BestPlaces(ends, out[: ends[-1]], int(examined))
