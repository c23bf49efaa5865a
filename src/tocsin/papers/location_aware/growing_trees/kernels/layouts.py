"""The layout of a changing R^t-tree: a growing R-tree, tokens in order of their turns, and a table for all nodes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.papers.location_aware.growing_trees.kernels.r_tree import Nodes
from tocsin.papers.location_aware.growing_trees.kernels.tables import Table

HIGHEST: Final = 64
"""More levels than a tree can have, because a node has at least two children."""


class Turns(NamedTuple):
    """The order of tokens: a turn is a position in it. S subscriptions, T tokens."""

    firsts: NDArray[np.int64]  # (S,) tokens [firsts[s], stops[s]) are at nodes
    stops: NDArray[np.int64]  # (S,)
    tokens: NDArray[np.int32]  # (T,)


class Chains(NamedTuple):
    """Doubly linked lists of turns; each turn is in at most one. T tokens."""

    nexts: NDArray[np.int32]  # (T,) 1 + the next turn of the list, 0 after the last
    befores: NDArray[np.int32]  # (T,) 1 + the previous turn, 0 before the first
    owners: NDArray[np.int32]  # (T,) the subscription


class CountedTree(NamedTuple):
    """An R^t-tree or R^t+-tree, with the number of subscriptions below a node that have a token."""

    tree: Nodes
    turns: Turns
    table: Table


class ListedTree(NamedTuple):
    """An R^t++-tree, with 1 + the first turn of the list of a node and a token, or 0."""

    tree: Nodes
    turns: Turns
    table: Table
    chains: Chains
