"""Builds hash tables and lists from the tokens placed at nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.index.spatial_text.kernels.layouts import ABSENT
from tocsin.papers.location_aware.rt_trees.kernels.placing import Placed
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenLists, TokenSets, fill_sets


def build_sets(nodes: int, placed: Placed) -> TokenSets:
    """The tokens of each node. Cost: sorting them."""
    return _sets_of(nodes, np.unique(_keys(placed)))[0]


def build_lists(nodes: int, placed: Placed) -> TokenLists:
    """The distinct children or subscriptions below each node, by token. Cost: sorting them."""
    return build_weighed_lists(nodes, placed, np.zeros(len(placed.nodes)))[0]


def build_weighed_sets(
    nodes: int, placed: Placed, values: NDArray[np.float64]
) -> tuple[TokenSets, NDArray[np.float64]]:
    """Like `build_sets`; also for each slot the greatest value of its token at its node."""
    keys = _keys(placed)
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sets, slots = _sets_of(nodes, keys[order[firsts]])
    greatest = np.zeros(len(sets.tokens))
    greatest[slots] = np.maximum.reduceat(values[order], firsts) if len(firsts) else 0.0
    return sets, frozen(greatest, np.float64)


def build_weighed_lists(
    nodes: int, placed: Placed, values: NDArray[np.float64]
) -> tuple[TokenLists, NDArray[np.float64]]:
    """Like `build_lists`; also the greatest value of each entry."""
    keys = _keys(placed)
    order = np.lexsort((placed.below, keys))
    keys, below = keys[order], placed.below[order]
    firsts = np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(below, prepend=-1) != 0))
    keys, lengths = np.unique(keys[firsts], return_counts=True)
    sets, slots = _sets_of(nodes, keys)
    numbers = np.full(len(sets.tokens), ABSENT, np.int32)
    numbers[slots] = np.arange(len(keys))
    lists = TokenLists(
        sets, frozen(numbers, np.int32), starts_of(lengths, len(lengths)), frozen(below[firsts], np.int32)
    )
    greatest = np.maximum.reduceat(values[order], firsts) if len(firsts) else values
    return lists, frozen(greatest, np.float64)


def _keys(placed: Placed) -> NDArray[np.int64]:
    """A node and a token as one number."""
    keys: NDArray[np.int64] = placed.nodes.astype(np.int64) << 32 | placed.tokens
    return keys


def _sets_of(nodes: int, keys: NDArray[np.int64]) -> tuple[TokenSets, NDArray[np.int64]]:
    """The tables for distinct pairs of a node and a token, and the slot of each."""
    own, tokens = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    counts = np.bincount(own, minlength=nodes)
    sizes = np.where(counts > 0, 1 << np.ceil(np.log2(2 * np.maximum(counts, 1))).astype(np.int64), 0)
    starts = starts_of(sizes, nodes)
    sets = TokenSets(starts, np.full(int(starts[-1]), ABSENT, np.int32))
    slots = fill_sets(sets, frozen(own, np.int32), frozen(tokens, np.int32))
    return frozen_table(sets), slots
