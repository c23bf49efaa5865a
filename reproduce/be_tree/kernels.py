"""Deletion from a BE-tree: removes a conjunction and nodes that become empty, and keeps these for reuse.

According to Sadoghi and Jacobsen 2011, deletion removes an empty node, and so on upwards.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.fields.kernels.code_sets import predicate_on
from tocsin.jit.decorators import inner, kernel
from tocsin.jit.views import viewed
from tocsin.papers.opindex.be_tree.kernels.growing import Growth, gain
from tocsin.papers.opindex.be_tree.kernels.nodes import (
    FREE_NODE,
    FREE_PARTITION,
    LIVING,
    Growing,
    first_slot,
    slot_of,
    unlink,
)


@kernel
def delete(growing: Growth, conjunction: int) -> bool:
    """Delete a conjunction, and the nodes that become empty. False if it is not in the tree."""
    growth = viewed(growing)
    tree, sets = growth.tree, growth.sets
    node = np.int64(tree.homes[conjunction])
    if node < 0:
        return False
    before, at, place = np.int64(-1), np.int64(tree.members[node]), 0
    while at != conjunction:
        before, at = at, np.int64(tree.nexts[at])
        place += 1
    if place >= tree.counts[node] - tree.stuck[node]:
        tree.stuck[node] -= 1
    unlink(tree, node, before, conjunction)
    tree.homes[conjunction] = -1
    partition = np.int64(tree.partitions[node])
    while partition >= 0:
        predicate = predicate_on(sets, conjunction, np.int64(tree.p_fields[partition]))
        tree.p_scores[partition] -= gain(growth, predicate)
        partition = np.int64(tree.partitions[tree.p_owners[partition]])
    while node > 0 and _is_empty(tree, node):
        node = _remove(tree, node)
    return True


@inner
def _is_empty(tree: Growing, node: int) -> bool:
    return tree.counts[node] == 0 and tree.directories[node] < 0 and tree.lefts[node] < 0 and tree.rights[node] < 0


@inner
def _remove(tree: Growing, node: int) -> int:
    """Remove an empty c-node, and its p-node if it was the p-node's only c-node; returns the c-node above."""
    partition = np.int64(tree.partitions[node])
    up = _whole_of(tree, partition, node)
    if up < 0:
        up = np.int64(tree.p_owners[partition])
        _remove_partition(tree, partition)
    elif tree.lefts[up] == node:
        tree.lefts[up] = -1
    else:
        tree.rights[up] = -1
    tree.lefts[node] = tree.state[FREE_NODE]
    tree.directories[node] = -1
    tree.state[FREE_NODE] = node
    return up


@inner
def _whole_of(tree: Growing, partition: int, node: int) -> int:
    """The c-node of which the given one is a half, or -1 if it covers all values of its p-node."""
    up, at = np.int64(-1), np.int64(tree.p_tops[partition])
    while at != node:
        up = at
        middle = (np.int64(tree.lows[at]) + tree.highs[at]) >> 1
        at = np.int64(tree.lefts[at] if tree.highs[node] <= middle else tree.rights[at])
    return up


@inner
def _remove_partition(tree: Growing, partition: int) -> None:
    slots, owners, fields = tree.slots, tree.p_owners, tree.p_fields
    before, at = np.int64(-1), np.int64(tree.directories[owners[partition]])
    while at != partition:
        before, at = at, np.int64(tree.p_nexts[at])
    if before < 0:
        tree.directories[owners[partition]] = tree.p_nexts[partition]
    else:
        tree.p_nexts[before] = tree.p_nexts[partition]
    last = len(slots) - 1
    empty = slot_of(tree, np.int64(owners[partition]), np.int64(fields[partition]))
    at = (empty + 1) & last
    while slots[at] >= 0:  # move back the entries that a search would now miss
        wanted = first_slot(owners[slots[at]], fields[slots[at]], len(slots))
        if (at - wanted) & last >= (at - empty) & last:
            slots[empty] = slots[at]
            empty = at
        at = (at + 1) & last
    slots[empty] = -1
    tree.p_nexts[partition] = tree.state[FREE_PARTITION]
    tree.state[FREE_PARTITION] = partition
    tree.state[LIVING] -= 1
