"""R-trees for regions with keywords, whose nodes know keywords of the subscriptions below.

Each has one packed tree per place. The walk skips a node whose box does not meet the message's. It also skips

- `rt_tree`: a node with none of the message's keywords below it;
- `rt_plus_tree`: a node below which no representative keyword is the message's; each subscription has one;
- `rt_plus_plus_tree`: a node where no subscription has had all of its keywords in the lists so far, one per level;
- `spatial_first`: nothing else.

Cost: O(nodes that meet the message * the shorter of node and message + entries of the remaining leaves). Memory, in
addition to region and keywords: 98 bytes a subscription of 3 keywords for `rt_tree`, 66 for `rt_plus_tree`, 82 for
`rt_plus_plus_tree`. Built in O(n log n). `candidates_examined` counts the entries of the remaining leaves. For
`rt_plus_plus_tree` it counts the subscriptions whose region is compared, in the lists of the first level.

Source: Yu et al. 2015, sections 3 to 5. Departs: packed instead of grown by insertion; boxes of one node may overlap.
See docs/papers/location_aware.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import InvalidInput
from tocsin.index.expressions import RebuiltOnLoad
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.spatial_text.kernels.resembling import Weighed
from tocsin.index.spatial_text.regions import Held
from tocsin.index.statistics import Statistics
from tocsin.papers.location_aware.rt_trees.alike import bounded_trees, ranked_trees, shared_trees
from tocsin.papers.location_aware.rt_trees.kernels.alike import BoundedTrees, RankedTrees, SharedTrees
from tocsin.papers.location_aware.rt_trees.kernels.counting import ListTrees
from tocsin.papers.location_aware.rt_trees.kernels.filters import BareTrees, TokenTrees
from tocsin.papers.location_aware.rt_trees.kernels.placing import ALL, parents_of, place_by_level, place_on_paths
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees
from tocsin.papers.location_aware.rt_trees.ordering import LOCALITY, SELECTIONS, order_tokens
from tocsin.papers.location_aware.rt_trees.packing import build_trees
from tocsin.papers.location_aware.rt_trees.tokens import build_lists, build_sets

LEAST: Final = 25
MOST: Final = 50
"""The numbers of children of a node."""


@dataclass(frozen=True, slots=True)
class SpatialFirstBuilder(RebuiltOnLoad):
    """Builds R-trees whose nodes, except roots, have `least` to `most` children.

    Raises `InvalidInput` if such a tree need not exist.
    """

    least: int = LEAST
    most: int = MOST

    def __post_init__(self) -> None:
        if self.most < 2 or self.least < 1 or 2 * self.least > self.most + 1:
            raise InvalidInput(
                f"children of a node are least={self.least} to most={self.most}; most must be at least 2, and least "
                "from 1 to half of most + 1, so that a full node can be split."
            )

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> FilterAndRefine[Held]:
        """Sort and pack. Statistics are ignored. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return self.over(held, build_trees(held, self.least, self.most))

    def over(self, held: Held, trees: Trees) -> FilterAndRefine[Held]:
        """The Matcher over given trees."""
        return FilterAndRefine(held, bare_trees(held, trees))

    def alike(self, held: Held, weighed: Weighed) -> Any:
        """The structure that finds subscriptions similar enough to a message: a table registered for `find_alike`."""
        return bare_trees(held, build_trees(held, self.least, self.most))


@dataclass(frozen=True, slots=True)
class RTTreeBuilder(SpatialFirstBuilder):
    """Builds R-trees whose nodes have all keywords below them."""

    def over(self, held: Held, trees: Trees) -> FilterAndRefine[Held]:
        return FilterAndRefine(held, token_trees(held, trees, held.regions.tokens, ALL))

    def alike(self, held: Held, weighed: Weighed) -> BoundedTrees:
        return bounded_trees(held, weighed, build_trees(held, self.least, self.most))


@dataclass(frozen=True, slots=True)
class RTPlusTreeBuilder(SpatialFirstBuilder):
    """Builds R-trees whose nodes have one keyword of each subscription below, chosen by `selection`.

    `selection` is a number of `SELECTIONS`. Raises `InvalidInput` for any other.
    """

    selection: int = LOCALITY

    def __post_init__(self) -> None:
        SpatialFirstBuilder.__post_init__(self)
        if not 0 <= self.selection < len(SELECTIONS):
            known = ", ".join(f"{number} ({name})" for number, name in enumerate(SELECTIONS))
            raise InvalidInput(f"selection is {self.selection}; it must be one of {known}.")

    def over(self, held: Held, trees: Trees) -> FilterAndRefine[Held]:
        return FilterAndRefine(held, token_trees(held, trees, order_tokens(held, self.selection), 1))

    def alike(self, held: Held, weighed: Weighed) -> SharedTrees | RankedTrees:
        trees = build_trees(held, self.least, self.most)
        return shared_trees(held, weighed, trees, order_tokens(held, self.selection))


@dataclass(frozen=True, slots=True)
class RTPlusPlusTreeBuilder(RTPlusTreeBuilder):
    """Builds R-trees whose nodes list subscriptions by one keyword per level, in the order of `selection`.

    If at most `finish` subscriptions per keyword of a message wait at a node, all their keywords are compared.
    With 0, keywords are only counted, level by level, as in the paper.
    """

    finish: int = 1

    def __post_init__(self) -> None:
        RTPlusTreeBuilder.__post_init__(self)
        if self.finish < 0:
            raise InvalidInput(f"finish is {self.finish}; it must be 0 or more subscriptions per keyword of a message.")

    def over(self, held: Held, trees: Trees) -> FilterAndRefine[Held]:
        ordered = order_tokens(held, self.selection)
        return FilterAndRefine(held, list_trees(held, trees, ordered, self.finish), stamps=True)

    def alike(self, held: Held, weighed: Weighed) -> RankedTrees:
        trees = build_trees(held, self.least, self.most)
        return ranked_trees(held, weighed, trees, order_tokens(held, self.selection))


def bare_trees(held: Held, trees: Trees) -> BareTrees:
    """Trees and the boxes of their entries."""
    return BareTrees(trees, frozen(held.regions.boxes[trees.entries], np.float64))


def token_trees(held: Held, trees: Trees, tokens: NDArray[np.int32], most: int) -> TokenTrees:
    """Trees with the first `most` of each subscription's tokens at all nodes above it."""
    placed = place_on_paths(trees, parents_of(trees), held.regions.token_starts, tokens, 1, most)
    boxes = frozen(held.regions.boxes[trees.entries], np.float64)
    return TokenTrees(trees, boxes, build_sets(len(trees.firsts), placed))


def list_trees(held: Held, trees: Trees, tokens: NDArray[np.int32], finish: int = 0) -> ListTrees:
    """Trees with each subscription in the lists of its tokens: one per level in this order, the rest in its leaf."""
    placed = place_by_level(trees, parents_of(trees), held.regions.token_starts, tokens)
    return ListTrees(trees, build_lists(len(trees.firsts), placed), frozen(np.array([finish]), np.int64))
