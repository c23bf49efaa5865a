"""Building of SOPT-R-trees: Algorithms 1 and 2 arrange the intervals, which are packed like any R-tree."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, inverse
from tocsin.index.scored.kernels.cursors import Ranges
from tocsin.index.scored.r_trees import r_trees
from tocsin.index.scored.r_trees.kernels import ENTRY, PLACE, RTrees
from tocsin.index.scored.sopt_r_tree.arrangement import arrange, constraint_graph
from tocsin.index.scored.tree import Arranging


def sopt_r_trees(ranges: Ranges, branching: int) -> RTrees:
    """One tree a group, with its intervals as Algorithm 1 arranges them."""
    lefts, rights = end_ranks(ranges)
    order = arrange(constraint_graph(lefts, rights), lefts)
    return r_trees(ranges.starts, order, ranges, branching)


def packed_again(ranges: Ranges, branching: int, order: NDArray[np.int32]) -> RTrees:
    """The same trees from a known arrangement; raises `ValueError` if it does not fit the groups."""
    places = np.repeat(np.arange(len(ranges.last)), np.diff(ranges.starts))
    there = np.zeros(len(places), bool)
    if order.dtype != np.int32 or order.shape != places.shape or not ((order >= 0) & (order < len(places))).all():
        raise ValueError("an arrangement is of other places")
    there[order] = True
    if not there.all() or (places[order] != places).any():
        raise ValueError("an arrangement has a place twice, or in another group")
    return r_trees(ranges.starts, order, ranges, branching)


def order_of(trees: RTrees) -> NDArray[np.int32]:
    """The places of the intervals as they are arranged."""
    return frozen(trees.entries[PLACE::ENTRY], np.int32)


ARRANGING: Final = Arranging(order_of, packed_again)


def end_ranks(ranges: Ranges) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank of each left and each right end among all: by group, then code, left ends first. Cost: a sort."""
    count = len(ranges.lows)
    groups = np.repeat(np.arange(len(ranges.last)) << 33, np.diff(ranges.starts))
    ends = np.concatenate([groups | ranges.lows.astype(np.int64) << 1, groups | ranges.highs.astype(np.int64) << 1 | 1])
    ranks = inverse(np.argsort(ends, kind="stable")).astype(np.int32)
    return ranks[:count], ranks[count:]
