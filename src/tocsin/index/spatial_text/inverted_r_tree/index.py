"""Which region-and-keyword subscriptions does this message satisfy? An R-tree whose nodes have an inverted file each,
from keywords to the children that have them: the baseline IRTree.

Cost: O(nodes that meet the message * the shorter of node and message + entries of their files that are read). Memory:
8 bytes and a slot for each keyword of each child. Built in O(n log n). `candidates_examined` counts those who have
all of their keywords.

Source: Cong, Jensen and Wu 2009; Yu et al. 2015, section 2.3. Departs: files have no weights, for all matches need
none; the tree is packed, and keywords do not decide what is near.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.columns.arrays import frozen
from tocsin.index.spatial_text.index import OverRegions
from tocsin.index.spatial_text.inverted_r_tree.kernels import InvertedTrees
from tocsin.index.spatial_text.regions import Held
from tocsin.index.spatial_text.rt_trees.index import ALL, SpatialFirstBuilder
from tocsin.index.spatial_text.rt_trees.kernels.placing import parents_of, place_on_paths
from tocsin.index.spatial_text.rt_trees.kernels.trees import Trees
from tocsin.index.spatial_text.rt_trees.tokens import build_lists


@dataclass(frozen=True, slots=True)
class InvertedRTreeBuilder(SpatialFirstBuilder):
    """Builds R-trees with inverted files."""

    def over(self, held: Held, trees: Trees) -> OverRegions:
        regions = held.regions
        placed = place_on_paths(trees, parents_of(trees), regions.token_starts, regions.tokens, 0, ALL)
        files = build_lists(len(trees.firsts), placed)
        return OverRegions(held, InvertedTrees(trees, files, frozen([self.most], "int64")), counts=True)
