"""A packed R-tree over rectangles, the baseline of the VCR paper.

Rectangles are sorted into tiles of equal numbers (sort-tile-recursive): into strips by their centre on one axis, within
a strip by their centre on the other. Neighbours share a leaf, and neighbouring nodes share a parent.

Cost: O(log n + matches) if rectangles hardly overlap, O(n) if they overlap much; 20 bytes a rectangle. Built in O(n log
n). `candidates_examined` counts the subscriptions whose rectangle the event meets.

Source: Guttman 1984; Leutenegger, Lopez and Edgington 1997 for the packing. Wu, Chen and Yu 2004 compare with an R-tree
that grows by insertion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import InvalidInput
from tocsin.index.expressions import RebuiltOnLoad
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.filtering.kernels.layouts import RIGHT
from tocsin.index.rectangles.rectangles import Held
from tocsin.index.statistics import Statistics
from tocsin.papers.vcr.r_tree.kernels import RTrees, bound_level

BRANCHING: Final = 16


@dataclass(frozen=True, slots=True)
class RTreeBuilder(RebuiltOnLoad):
    """Builds R-trees whose nodes have up to `branching` children. Raises `InvalidInput` unless it is 2 to 1024."""

    branching: int = BRANCHING

    def __post_init__(self) -> None:
        if not 2 <= self.branching <= 1024:
            raise InvalidInput(f"branching of r_tree is {self.branching}; it must be 2 to 1024.")

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> FilterAndRefine[Held]:
        """Sort and pack. Statistics are ignored. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return FilterAndRefine(held, build_r_trees(held, self.branching))


def build_r_trees(held: Held, branching: int) -> RTrees:
    """The R-trees of all pairs of axes."""
    groups = held.groups
    entries: list[NDArray[np.int32]] = []
    levels: list[list[NDArray[np.int32]]] = []
    for pair in range(len(groups.axes)):
        members = groups.members[groups.starts[pair] : groups.starts[pair + 1]]
        own = groups.rectangles[members]
        order = sort_tile_recursive(own, branching)
        entries.append(members[order])
        levels.append([bound_level(frozen(own[order], np.int32), branching)])
        while len(levels[-1][-1]) > 1:
            levels[-1].append(bound_level(levels[-1][-1], branching))
    nodes = [level for own in levels for level in own]
    packed = np.concatenate([np.empty(0, np.int32), *entries])
    return RTrees(
        branching=frozen([branching], np.int64),
        starts=groups.starts,
        entries=frozen(packed, np.int32),
        boxes=frozen(groups.rectangles[packed], np.int32),
        level_starts=starts_of([len(own) for own in levels], len(levels)),
        node_starts=starts_of([len(level) for level in nodes], len(nodes)),
        nodes=frozen(np.concatenate([np.empty((0, 4), np.int32), *nodes]), np.int32),
    )


def sort_tile_recursive(rectangles: NDArray[np.int32], branching: int) -> NDArray[np.int64]:
    """The order in which neighbours share a leaf."""
    middles = (rectangles[:, :RIGHT].astype(np.int64) + rectangles[:, RIGHT:]).T
    leaves = -(-len(rectangles) // branching)
    strip = max(int(np.ceil(np.sqrt(leaves))), 1) * branching
    by_x = np.argsort(middles[0], kind="stable")
    strips = np.empty(len(rectangles), np.int64)
    strips[by_x] = np.arange(len(rectangles)) // strip
    return np.lexsort((middles[1], strips))
