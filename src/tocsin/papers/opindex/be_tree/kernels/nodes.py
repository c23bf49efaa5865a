"""The nodes of a growing BE-tree in flat arrays: creating, finding and filling them.

A c-node (Sadoghi and Jacobsen 2011) has an l-node, which is a list of conjunctions, and a p-directory, which is a list
of p-nodes. A hash table also finds p-nodes by (c-node, attribute). A p-node's c-directory is a binary tree of c-nodes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.numbers import scattered

# Places in `Growing.state`.
NODES: Final = 0  # c-nodes ever created
PARTITIONS: Final = 1  # p-nodes ever created
FREE_NODE: Final = 2  # the first c-node to reuse, or -1
FREE_PARTITION: Final = 3  # the first p-node to reuse, or -1
WAITING: Final = 4  # c-nodes on the stack
LIVING: Final = 5  # p-nodes in use
STATE: Final = 6

_NODES_A_STEP: Final = 2
"""A step creates at most this many c-nodes, and one p-node."""


class Growing(NamedTuple):
    """A BE-tree that grows, and may shrink (`reproduce/be_tree`).

    N room for c-nodes, Q for p-nodes, H slots (a power of two), C conjunctions, D fields. C-node 0 is the root. -1
    always means none.
    """

    fields: NDArray[np.int32]  # (N,) as in `Tree`
    lows: NDArray[np.int32]  # (N,)
    highs: NDArray[np.int32]  # (N,)
    lefts: NDArray[np.int32]  # (N,) for a free c-node: the next free one
    rights: NDArray[np.int32]  # (N,)
    partitions: NDArray[np.int32]  # (N,) the p-node whose c-directory holds it
    halved: NDArray[np.uint8]  # (N,) 1 if conjunctions that fit in a half were moved there
    directories: NDArray[np.int32]  # (N,) the first p-node of the p-directory
    members: NDArray[np.int32]  # (N,) the first conjunction of the l-node
    counts: NDArray[np.int32]  # (N,) the number of conjunctions in the l-node
    stuck: NDArray[np.int32]  # (N,) how many of these, the last ones, have no attribute left to partition by
    waiting: NDArray[np.uint8]  # (N,) 1 for a c-node on the stack
    stack: NDArray[np.int32]  # (N,) c-nodes that may overflow
    p_fields: NDArray[np.int32]  # (Q,)
    p_owners: NDArray[np.int32]  # (Q,) the c-node whose p-directory holds it
    p_tops: NDArray[np.int32]  # (Q,) its c-node for all values
    p_nexts: NDArray[np.int32]  # (Q,) the next one in the directory; for a free p-node: the next free one
    p_scores: NDArray[np.float64]  # (Q,)
    slots: NDArray[np.int32]  # (H,) p-nodes by c-node and field, by linear probing
    homes: NDArray[np.int32]  # (C,) the c-node of a conjunction
    nexts: NDArray[np.int32]  # (C,) the next conjunction of the l-node
    scores: NDArray[np.float64]  # (D,) 0 between calls
    touched: NDArray[np.int32]  # (D,)
    state: NDArray[np.int64]  # (STATE,)


@inner
def has_room(tree: Growing) -> bool:
    """Whether there is room for one step."""
    state = tree.state
    return (
        state[NODES] + _NODES_A_STEP <= len(tree.fields)
        and state[PARTITIONS] < len(tree.p_fields)
        and 2 * (state[LIVING] + 1) <= len(tree.slots)
    )


@inner
def new_node(tree: Growing, field: int, low: int, high: int, partition: int) -> int:
    """Create an empty c-node, reusing a free one if possible."""
    state = tree.state
    node = state[FREE_NODE]
    if node >= 0:
        state[FREE_NODE] = tree.lefts[node]
    else:
        node = state[NODES]
        state[NODES] += 1
    tree.fields[node], tree.lows[node], tree.highs[node] = field, low, high
    tree.lefts[node], tree.rights[node], tree.halved[node] = -1, -1, 0
    tree.partitions[node], tree.directories[node], tree.members[node] = partition, -1, -1
    tree.counts[node], tree.stuck[node], tree.waiting[node] = 0, 0, 0
    return node


@inner
def add(tree: Growing, node: int, conjunction: int) -> None:
    """Add a conjunction at the head of an l-node, which may then overflow."""
    tree.nexts[conjunction] = tree.members[node]
    tree.members[node] = conjunction
    tree.homes[conjunction] = node
    tree.counts[node] += 1
    if not tree.waiting[node]:
        tree.waiting[node] = 1
        tree.stack[tree.state[WAITING]] = node
        tree.state[WAITING] += 1


@inner
def unlink(tree: Growing, node: int, before: int, conjunction: int) -> None:
    """Remove a conjunction from an l-node. It follows the conjunction `before`, or is the first (-1)."""
    if before < 0:
        tree.members[node] = tree.nexts[conjunction]
    else:
        tree.nexts[before] = tree.nexts[conjunction]
    tree.counts[node] -= 1


@inner
def new_partition(tree: Growing, node: int, field: int) -> int:
    """Create a p-node of a c-node, reusing a free one if possible."""
    state = tree.state
    partition = state[FREE_PARTITION]
    if partition >= 0:
        state[FREE_PARTITION] = tree.p_nexts[partition]
    else:
        partition = state[PARTITIONS]
        state[PARTITIONS] += 1
    state[LIVING] += 1
    tree.p_fields[partition], tree.p_owners[partition], tree.p_scores[partition] = field, node, 0.0
    tree.p_nexts[partition] = tree.directories[node]
    tree.directories[node] = partition
    tree.slots[slot_of(tree, node, field)] = partition
    return partition


@inlined
def first_slot(node: int, field: int, slots: int) -> int:
    mixed = scattered((np.uint64(node) << np.uint64(32)) | np.uint64(field))
    return np.int64((mixed >> np.uint64(32)) & np.uint64(slots - 1))


@inner
def slot_of(tree: Growing, node: int, field: int) -> int:
    """The slot of a c-node's p-node for a field, or the empty slot where it would be."""
    slots = tree.slots
    at = first_slot(node, field, len(slots))
    while slots[at] >= 0 and (tree.p_owners[slots[at]] != node or tree.p_fields[slots[at]] != field):
        at = (at + 1) & (len(slots) - 1)
    return at


@kernel
def fill_slots(growing: Growing) -> None:
    """Enter all p-nodes in use into the empty slots."""
    tree = viewed(growing)
    for node in range(tree.state[NODES]):
        partition = tree.directories[node]
        while partition >= 0:
            tree.slots[slot_of(tree, node, np.int64(tree.p_fields[partition]))] = partition
            partition = tree.p_nexts[partition]


@kernel
def in_order(growing: Growing) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The c-nodes in use, parents before children, and the conjunctions in the order of their l-nodes."""
    tree = viewed(growing)
    nodes = np.empty(tree.state[NODES], np.int32)
    conjunctions = np.empty(len(tree.homes), np.int32)
    stack = np.empty(tree.state[NODES], np.int32)
    count, total, depth = 0, 0, 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        nodes[count] = node
        count += 1
        conjunction = tree.members[node]
        while conjunction >= 0:
            conjunctions[total] = conjunction
            total += 1
            conjunction = tree.nexts[conjunction]
        for half in (tree.lefts[node], tree.rights[node]):
            if half >= 0:
                stack[depth] = half
                depth += 1
        partition = tree.directories[node]
        while partition >= 0:
            stack[depth] = tree.p_tops[partition]
            depth += 1
            partition = tree.p_nexts[partition]
    return nodes[:count].copy(), conjunctions[:total].copy()
