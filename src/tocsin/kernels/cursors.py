"""What do all scored interval indexes have in common? A cursor: the intervals that a value stabs, best first.

`open_cursor` and `next_place` are one function for every structure: which one is meant is known when a kernel that
calls them is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from tocsin.kernels.interval_trees import next_on_path, open_path
from tocsin.kernels.ir_tree_layouts import ChangingTrees
from tocsin.kernels.ir_tree_walk import next_of_codes, open_codes
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import borrowed
from tocsin.kernels.r_trees import EXAMINED, next_in_tree, open_tree, place_of_entry
from tocsin.kernels.ranked_layouts import IntervalTrees, RTrees, SegmentTrees
from tocsin.kernels.segment_trees import next_in_lists, open_lists


def open_cursor(structure: Any, group: int, code: int, state: NDArray[np.int64]) -> None:
    """Begin a search for what a code stabs in a group."""
    raise NotImplementedError("for kernels")


def next_place(structure: Any, code: int, state: NDArray[np.int64]) -> int:
    """The place of the next best interval, -1 when there is none any more; adds to state[EXAMINED]."""
    raise NotImplementedError("for kernels")


@inlined
def _next_of_tree(trees: RTrees, code: int, state: NDArray[np.int64]) -> int:
    entry = next_in_tree(trees, code, state)
    return np.int64(-1) if entry < 0 else place_of_entry(trees, entry)


@overload(open_cursor, inline="always", strict=False)
def _open(structure: Any, group: Any, code: Any, state: Any) -> Any:
    if _is(structure, RTrees):
        return lambda structure, group, code, state: open_tree(structure, group, state)
    if _is(structure, IntervalTrees):
        return lambda structure, group, code, state: open_path(structure, group, code, state)
    if _is(structure, SegmentTrees):
        return lambda structure, group, code, state: open_lists(structure, group, code, state)
    if _is(structure, ChangingTrees):
        return lambda structure, group, code, state: open_codes(structure, group, code, state)
    return None


@overload(next_place, inline="always", strict=False)
def _next(structure: Any, code: Any, state: Any) -> Any:
    if _is(structure, RTrees):
        return lambda structure, code, state: _next_of_tree(structure, code, state)
    if _is(structure, IntervalTrees):
        return lambda structure, code, state: next_on_path(structure, code, state)
    if _is(structure, SegmentTrees):
        return lambda structure, code, state: next_in_lists(structure, state)
    if _is(structure, ChangingTrees):
        return lambda structure, code, state: next_of_codes(structure, code, state)
    return None


def _is(structure: Any, layout: type) -> bool:
    return isinstance(structure, types.BaseTuple) and getattr(structure, "instance_class", None) is layout


@kernel
def best_places(
    structure: Any,
    groups: NDArray[np.int32],
    codes: NDArray[np.int32],
    k: int,
    state: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write the k best places of each query and where they end; returns how many entries were looked at.

    `out` has room for k of each. A query with a code below 0 stabs nothing.
    """
    structure, groups, codes, state, ends, out = borrowed((structure, groups, codes, state, ends, out))
    written = np.uint64(0)
    examined = np.int64(0)
    for query in range(np.uint64(len(codes))):
        code = codes[query]
        if code >= 0:
            open_cursor(structure, np.int64(groups[query]), code, state)
            left = k
            while left > 0:
                place = next_place(structure, code, state)
                if place < 0:
                    break
                out[written] = place
                written += np.uint64(1)
                left -= 1
            examined += state[EXAMINED]
        ends[query] = np.int64(written)
    return examined


@kernel
def begin_cursor(structure: Any, group: int, code: int, state: NDArray[np.int64]) -> None:
    """`open_cursor`, for Python."""
    open_cursor(structure, group, code, state)


@kernel
def move_cursor(structure: Any, code: int, state: NDArray[np.int64]) -> int:
    """`next_place`, for Python."""
    return next_place(structure, code, state)
