"""Upper bounds on the similarity of a message to the subscriptions below a node.

Source: Yu et al. 2015, sections 6.1 to 6.3. Departs: a share is 1 at most, and 1 if they touch and a region or the
message has no area. Shares of a subscription's remaining tokens are stored, so that they serve any threshold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, meets
from tocsin.index.spatial_text.kernels.layouts import Message
from tocsin.index.spatial_text.kernels.resembling import Weighed
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees

SLACK = 1e-9
"""Slack of bounds, because they are rounded differently from scores."""


@kernel
def least_below(trees: Trees, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) the least of the values of all subscriptions below a node; 0 if any of them is not positive."""
    held = viewed(trees)
    out = np.full(len(held.firsts), np.inf)
    for node in range(len(out) - 1, -1, -1):
        for i in range(held.firsts[node], held.stops[node]):
            own = values[held.entries[i]] if held.is_leaf[node] else out[i]
            out[node] = min(out[node], own) if own > 0.0 else 0.0
    return out


@kernel
def shares_of(starts: NDArray[np.int64], tokens: NDArray[np.int32], weighed: Weighed) -> NDArray[np.float64]:
    """(T,) the share of its subscription's weight that each token has."""
    heavy = viewed(weighed)
    out = np.zeros(len(tokens))
    for one in range(len(starts) - 1):
        if heavy.totals[one] < np.inf:
            for turn in range(starts[one], starts[one + 1]):
                out[turn] = heavy.weights[tokens[turn]] / heavy.totals[one]
    return out


@kernel
def shares_from(starts: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(T,) the combined share of each token and all later ones of its subscription."""
    out = shares.copy()
    for one in range(len(starts) - 1):
        for turn in range(starts[one + 1] - 2, starts[one] - 1, -1):
            out[turn] = min(out[turn] + out[turn + 1], 1.0)
    return out


@kernel
def shares_ahead(
    trees: Trees, parents: NDArray[np.int32], starts: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(N,) the greatest share that a subscription below a node has from its token of the node's level on."""
    held = viewed(trees)
    out = np.zeros(len(held.firsts))
    for leaf in range(len(out)):
        if not held.is_leaf[leaf]:
            continue
        for i in range(held.firsts[leaf], held.stops[leaf]):
            one, node = held.entries[i], np.int64(leaf)
            for level in range(held.levels[leaf], 0, -1):
                turn = starts[one] + level - 1
                if turn < starts[one + 1]:
                    out[node] = max(out[node], shares[turn])
                node = np.int64(parents[node])
    return out


@inlined
def most_in_common(trees: Trees, areas: NDArray[np.float64], node: int, message: Message) -> float:
    """The greatest share of any region below a node that a message may cover; `areas` are the least below each node."""
    boxes = trees.boxes
    if not meets(boxes, node, message):
        return 0.0
    if not (areas[node] > 0.0 and (message.right - message.left) * (message.upper - message.lower) > 0.0):
        return 1.0
    width = min(boxes[node, RIGHT], message.right) - max(boxes[node, LEFT], message.left)
    height = min(boxes[node, UPPER], message.upper) - max(boxes[node, LOWER], message.lower)
    share = width * height / areas[node]
    return share if share < 1.0 else 1.0  # also 1 for NaN, from areas beyond float64
