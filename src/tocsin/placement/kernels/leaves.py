"""The leaves that a box meets, with closed cells, in the tree that divides the map.

The tree is complete: node n splits the map at splits[n] (by x on even levels, by y on odd ones) into its children 2n +
1 and 2n + 2. Boxes that share a point share the leaf of that point.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel

DEEPEST: Final = 64


@inlined
def find_leaves(
    splits: NDArray[np.float64],
    boxes: NDArray[np.float64],
    box: int,
    stack: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write the leaves that a box meets; returns their number. `out` has room for all, `stack` for DEEPEST."""
    nodes = np.int64(len(splits))
    stack[0] = 0
    height = np.int64(1)
    count = np.int64(0)
    while height > 0:
        height -= 1
        node = stack[height]
        if node >= nodes:
            out[count] = node - nodes
            count += 1
            continue
        axis = _level(node) & 1
        if boxes[box, 2 + axis] >= splits[node]:
            stack[height] = 2 * node + 2
            height += 1
        if boxes[box, axis] <= splits[node]:
            stack[height] = 2 * node + 1
            height += 1
    return count


@inlined
def _level(node: int) -> int:
    level = np.int64(0)
    left = node + 1
    while left > 1:
        left >>= 1
        level += 1
    return level


@kernel
def leaves_of_boxes(
    splits: NDArray[np.float64], boxes: NDArray[np.float64], ends: NDArray[np.int64], out: NDArray[np.int32]
) -> int:
    """Write the leaves of each box, and where they end; returns their number, or -1 if there is no room."""
    own, stack = np.empty(len(splits) + 1, np.int32), np.empty(DEEPEST, np.int64)
    count = np.int64(0)
    for box in range(len(boxes)):
        found = find_leaves(splits, boxes, box, stack, own)
        if count + found > len(out):
            return np.int64(-1)
        for i in range(found):
            out[count + i] = own[i]
        count += found
        ends[box] = count
    return count
