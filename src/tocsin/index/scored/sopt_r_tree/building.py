"""How do intervals become a SOPT-R-tree? They are arranged by Algorithms 1 and 2, and packed as any R-tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import inverse
from tocsin.index.scored.kernels.layouts import Ranges
from tocsin.index.scored.r_trees.building import r_trees
from tocsin.index.scored.r_trees.kernels import RTrees
from tocsin.index.scored.sopt_r_tree.arrangement import arrange, constraint_graph


def sopt_r_trees(ranges: Ranges, branching: int) -> RTrees:
    """One a group, its intervals as Algorithm 1 arranges them."""
    lefts, rights = end_ranks(ranges)
    order = arrange(constraint_graph(lefts, rights), lefts)
    return r_trees(ranges.starts, order, ranges, branching)


def end_ranks(ranges: Ranges) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank of each left and each right end among all: by group, then code, left ends first. Cost: a sort."""
    count = len(ranges.lows)
    groups = np.repeat(np.arange(len(ranges.last)) << 33, np.diff(ranges.starts))
    ends = np.concatenate([groups | ranges.lows.astype(np.int64) << 1, groups | ranges.highs.astype(np.int64) << 1 | 1])
    ranks = inverse(np.argsort(ends, kind="stable")).astype(np.int32)
    return ranks[:count], ranks[count:]
