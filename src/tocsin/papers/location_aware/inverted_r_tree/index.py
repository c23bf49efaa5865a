"""A baseline for regions with keywords: an R-tree with an inverted file at every node.

Cost: O(nodes that meet the message * the shorter of node and message + entries of their files that are read). Memory: 8
bytes and a slot for each keyword of each child. Built in O(n log n). `candidates_examined` counts the subscriptions
with all of their keywords in the message.

Source: Cong, Jensen and Wu 2009; Yu et al. 2015, section 2.3. Departs: files have no weights, because all matches need
none; the tree is packed, and keywords do not influence which subscriptions share a node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.spatial_text.kernels.resembling import Weighed
from tocsin.index.spatial_text.regions import Held
from tocsin.papers.location_aware.inverted_r_tree.kernels.alike import WeighedTrees
from tocsin.papers.location_aware.inverted_r_tree.kernels.files import InvertedTrees
from tocsin.papers.location_aware.rt_trees.index import SpatialFirstBuilder
from tocsin.papers.location_aware.rt_trees.kernels.bounds import least_below, shares_of
from tocsin.papers.location_aware.rt_trees.kernels.placing import ALL, parents_of, place_on_paths
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees
from tocsin.papers.location_aware.rt_trees.packing import build_trees
from tocsin.papers.location_aware.rt_trees.tokens import build_lists, build_weighed_lists


@dataclass(frozen=True, slots=True)
class InvertedRTreeBuilder(SpatialFirstBuilder):
    """Builds R-trees with inverted files."""

    def over(self, held: Held, trees: Trees) -> FilterAndRefine[Held]:
        regions = held.regions
        placed = place_on_paths(trees, parents_of(trees), regions.token_starts, regions.tokens, 0, ALL)
        files = build_lists(len(trees.firsts), placed)
        return FilterAndRefine(held, InvertedTrees(trees, files, frozen([self.most], np.int64)), stamps=True)

    def alike(self, held: Held, weighed: Weighed) -> WeighedTrees:
        regions, trees = held.regions, build_trees(held, self.least, self.most)
        placed = place_on_paths(trees, parents_of(trees), regions.token_starts, regions.tokens, 0, ALL)
        shares = shares_of(regions.token_starts, regions.tokens, weighed)[placed.turns]
        return WeighedTrees(
            trees,
            *build_weighed_lists(len(trees.firsts), placed, shares),
            least_below(trees, frozen(weighed.areas, np.float64)),
            frozen([self.most], np.int64),
        )
