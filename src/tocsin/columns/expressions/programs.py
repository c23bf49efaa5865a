"""Programs: the compiled form of expressions.

A program is an AND of places, which are literals or groups. A group is a mark for AND or OR, the number of places that
follow, and these places. NOT is pushed into the literals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.leaves import PooledLeaves
from tocsin.columns.expressions.pools import Pools
from tocsin.kernels import codes
from tocsin.language.operators.operator import lowered
from tocsin.model.expression import Expression


def program_of(expression: Expression, pools: Pools) -> list[int]:
    """Compile an expression to a program over leaves of pools."""
    tree = lowered(expression, PooledLeaves(pools))
    if isinstance(tree, list) and tree[0] == codes.OPEN_AND:
        return tree[2:]  # a program is an AND already
    return tree if isinstance(tree, list) else [tree]


def depths(program: NDArray[np.int32]) -> NDArray[np.int64]:
    """(P,) the number of groups around each place of some programs; a mark is inside its own group."""
    marks, steps = np.flatnonzero(program < 0), np.zeros(len(program) + 1, np.int64)
    np.add.at(steps, marks, 1)
    np.add.at(steps, stops_of(program, marks), -1)
    return np.cumsum(steps)[:-1]


def stops_of(program: NDArray[np.int32], marks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the groups end that marks at some places open: `next_place` of each."""
    stops: NDArray[np.int64] = marks + 2 + program[marks + 1]
    return stops


def leaf_places(program: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which places of a program are leaves. The place after an opening mark is a length."""
    is_leaf = program >= 0
    is_leaf[1:] &= program[:-1] >= 0
    return is_leaf
