"""What is an R^t-tree that changes? A growing R-tree, tokens in the order of their turns, and a table for all nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.r_tree.kernels import Growing
from reproduce.rt_tree.kernels.tables import Table


class Turns(NamedTuple):
    """Whose turn is when. S subscriptions, T tokens."""

    firsts: NDArray[np.int64]  # (S,) tokens [firsts[s], stops[s]) are at nodes
    stops: NDArray[np.int64]  # (S,)
    tokens: NDArray[np.int32]  # (T,)


class Chains(NamedTuple):
    """Lists of turns, doubly linked; each is in one at most. T tokens."""

    nexts: NDArray[np.int32]  # (T,) 1 + the next turn of the list, 0 behind the last
    befores: NDArray[np.int32]  # (T,) 1 + the one before, 0 for the first
    owners: NDArray[np.int32]  # (T,) the subscription


class CountedTree(NamedTuple):
    """An R^t-tree or R^t+-tree: how many subscriptions below a node have a token, if any."""

    tree: Growing
    turns: Turns
    table: Table


class ListedTree(NamedTuple):
    """An R^t++-tree: 1 + the first turn of the list of a node and a token, or 0."""

    tree: Growing
    turns: Turns
    table: Table
    chains: Chains
