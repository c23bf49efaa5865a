"""What the tests of scored intervals share: intervals as the indexes take them, and R-trees read back in Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.naive.intervals import Ends, Interval
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.r_trees.kernels import RTrees
from tocsin.papers.ranked_pubsub.segment_tree.kernels import SegmentTrees

few = (
    st.integers(0, 12)
    .flatmap(lambda last: st.lists(st.tuples(*2 * [st.integers(0, last)]), max_size=14))
    .map(lambda drawn: [(min(two), max(two)) for two in drawn])
)
"""A few intervals over a few codes."""


def scored(intervals: Sequence[Interval], last: Sequence[int]) -> ScoredIntervals:
    """Intervals in any order; group g's codes are 0 to last[g]."""
    columns = list(zip(*intervals, strict=True)) if intervals else [()] * 5
    groups, lows, highs, scores, owners = columns
    return ScoredIntervals.of(
        np.array(groups, np.int32),
        np.array(lows, np.int32),
        np.array(highs, np.int32),
        np.array(scores, np.float64),
        np.array(owners, np.int32),
        np.array(last, np.int64),
    )


def by_rank(intervals: Sequence[tuple[int, int]]) -> ScoredIntervals:
    """One group of intervals best first: the places are those of the sequence."""
    made = [Interval(0, low, high, -float(place), place) for place, (low, high) in enumerate(intervals)]
    return scored(made, [max((high for _, high in intervals), default=0)])


def ends_of(intervals: ScoredIntervals) -> list[tuple[int, int]]:
    return list(zip(intervals.ranges.lows.tolist(), intervals.ranges.highs.tolist(), strict=True))


def random_ends(random: np.random.Generator, count: int, codes: int, mean_length: float) -> list[tuple[int, int]]:
    """Intervals whose lengths are many short and some long."""
    lows = random.integers(0, codes, count)
    highs = np.minimum(lows + random.exponential(mean_length, count).astype(np.int64), codes - 1)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


class Level(NamedTuple):
    """One level of an R-tree, leaves first: of each node its extent, and which entries are below."""

    extents: list[Ends]
    entries: list[range]


def branching_of(trees: RTrees, count: int) -> int:
    """Entries of a node, by the legend: short groups have a root alone."""
    branching, short = trees.branching.tolist()
    return max(branching, short) if count <= short else branching


def levels(trees: RTrees, group: int = 0) -> list[Level]:
    """The nodes of a group's R-tree, by the layout's legend alone."""
    first, stop = (int(trees.starts[group + i]) for i in range(2))
    branching = branching_of(trees, stop - first)
    at, end = (int(trees.node_starts[group + i]) for i in range(2))
    found: list[Level] = []
    width, below = 1, stop - first
    while at < end:
        width, below = width * branching, -(-below // branching)
        rows = trees.nodes[2 * at : 2 * (at + below)].reshape(-1, 2).tolist()
        ranges = [range(first + width * i, min(first + width * (i + 1), stop)) for i in range(below)]
        found.append(Level([(low, high) for low, high in rows], ranges))
        at += below
    assert at == end
    assert not found or len(found[-1].extents) == 1
    return found


def entries(trees: RTrees) -> NDArray[np.int32]:
    """(N, 3) low, high and place, as arranged."""
    return trees.entries.reshape(-1, 3)


class Search:
    """`getnext()` of section 2.2.3, depth first from the left, that notes which nodes it goes into."""

    def __init__(self, trees: RTrees, code: int, group: int = 0) -> None:
        self.levels = levels(trees, group)
        self.rows = entries(trees).tolist()
        self.branching = branching_of(trees, int(trees.starts[group + 1] - trees.starts[group]))
        self.code = code
        self.explored: list[list[int]] = [[] for _ in self.levels]

    def places(self) -> Iterator[int]:
        """Of what is stabbed, one by one; `explored` grows as they are asked for."""
        if self.levels and self._is_within(len(self.levels) - 1, 0):
            yield from self._below(len(self.levels) - 1, 0)

    def _is_within(self, level: int, node: int) -> bool:
        low, high = self.levels[level].extents[node]
        return low <= self.code <= high

    def _below(self, level: int, node: int) -> Iterator[int]:
        self.explored[level].append(node)
        if level == 0:
            for low, high, place in (self.rows[entry] for entry in self.levels[0].entries[node]):
                if low <= self.code <= high:
                    yield place
            return
        children = range(self.branching * node, self.branching * (node + 1))
        for child in children[: len(self.levels[level - 1].extents) - children.start]:
            if self._is_within(level - 1, child):
                yield from self._below(level - 1, child)


def lists_of(trees: SegmentTrees, group: int = 0) -> list[list[int]]:
    """The places of each node's list, by the node's number in its group."""
    first, stop = trees.node_starts[group : group + 2]
    starts = trees.entry_starts[first : stop + 1]
    return [trees.places[a:b].tolist() for a, b in itertools.pairwise(starts)]
