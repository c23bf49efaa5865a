"""Builds R-trees for `Similar` under given weights, with bounds by node and shares by token."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.index.spatial_text.kernels.resembling import Weighed
from tocsin.index.spatial_text.regions import Held
from tocsin.papers.location_aware.rt_trees.kernels.alike import BoundedTrees, RankedTrees, SharedTrees
from tocsin.papers.location_aware.rt_trees.kernels.bounds import least_below, shares_ahead, shares_from, shares_of
from tocsin.papers.location_aware.rt_trees.kernels.placing import ALL, parents_of, place_by_level, place_on_paths
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees
from tocsin.papers.location_aware.rt_trees.tokens import build_sets, build_weighed_lists, build_weighed_sets


def bounded_trees(held: Held, weighed: Weighed, trees: Trees) -> BoundedTrees:
    """Trees with all tokens below each node, and the least area and weight of a subscription there."""
    regions = held.regions
    placed = place_on_paths(trees, parents_of(trees), regions.token_starts, regions.tokens, 1, ALL)
    areas, totals = frozen(weighed.areas, np.float64), frozen(weighed.totals, np.float64)
    return BoundedTrees(
        trees, build_sets(len(trees.firsts), placed), least_below(trees, areas), least_below(trees, totals)
    )


def shared_trees(held: Held, weighed: Weighed, trees: Trees, tokens: NDArray[np.int32]) -> SharedTrees:
    """Trees with all tokens below each node, and the greatest share of each with all later ones, in the given order."""
    starts = held.regions.token_starts
    placed = place_on_paths(trees, parents_of(trees), starts, tokens, 1, ALL)
    shares = shares_from(starts, shares_of(starts, tokens, weighed))
    return SharedTrees(trees, *build_weighed_sets(len(trees.firsts), placed, shares[placed.turns]))


def ranked_trees(held: Held, weighed: Weighed, trees: Trees, tokens: NDArray[np.int32]) -> RankedTrees:
    """Trees with lists by level, in the given order of tokens, and the shares that subscriptions have left there."""
    starts, parents = held.regions.token_starts, parents_of(trees)
    placed = place_by_level(trees, parents, starts, tokens)
    shares = shares_from(starts, shares_of(starts, tokens, weighed))
    return RankedTrees(
        trees,
        *build_weighed_lists(len(trees.firsts), placed, shares[placed.turns]),
        shares_ahead(trees, parents, starts, shares),
        least_below(trees, frozen(weighed.areas, np.float64)),
    )
