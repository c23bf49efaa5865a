"""How does a BE-tree grow and shrink, a conjunction at a time? Insertion, overflow, deletion.

Sadoghi and Jacobsen 2011: a conjunction goes into the p-node of highest score among those of its attributes,
then into the smallest c-node whose range covers its predicate, and so on down. An l-node that overflows is first
*clustered*, its c-node's range halved, then *partitioned* by the attribute of highest score that is not used above.

Their scores are not at hand as published (docs/papers/be_tree.md): here a conjunction counts 1 for its attribute's
popularity, less the share of the attribute's codes that its predicate allows, the events that it will not keep out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.be_tree.kernels.nodes import (
    WAITING,
    Growing,
    add,
    has_room,
    is_empty,
    new_node,
    new_partition,
    remove,
    slot_of,
    unlink,
)
from tocsin.index.fields.kernels.code_sets import CodeSets, predicate_on
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import borrowed


@kernel
def insert(
    tree: Growing,
    sets: CodeSets,
    operand_starts: NDArray[np.int64],
    conjunctions: NDArray[np.int32],
    first: int,
    most: int,
) -> int:
    """Insert conjunctions from place `first` on, l-nodes of at most `most`. Returns the place to go on from.

    That is their number + 1 when all is done; until then the caller makes more room, and goes on.
    """
    tree, sets, operand_starts, conjunctions = borrowed((tree, sets, operand_starts, conjunctions))
    for i in range(first, len(conjunctions) + 1):
        if not _settle(tree, sets, operand_starts, most) or not has_room(tree):
            return i
        if i < len(conjunctions):
            _insert_one(tree, sets, operand_starts, conjunctions[i])
    return len(conjunctions) + 1


@kernel
def _settle(tree: Growing, sets: CodeSets, operand_starts: NDArray[np.int64], most: int) -> bool:
    """Cluster and partition until no l-node overflows; False where there is no room."""
    state = tree.state
    while state[WAITING] > 0:
        node = np.int64(tree.stack[state[WAITING] - 1])
        if tree.counts[node] <= max(most, tree.stuck[node]):
            tree.waiting[node] = 0
            state[WAITING] -= 1
        elif not has_room(tree):
            return False
        elif tree.fields[node] >= 0 and not tree.halved[node] and tree.lows[node] < tree.highs[node]:
            _cluster(tree, sets, node)
        else:
            _partition(tree, sets, operand_starts, node)
    return True


@kernel
def _insert_one(tree: Growing, sets: CodeSets, operand_starts: NDArray[np.int64], conjunction: int) -> None:
    node = np.int64(0)
    while True:
        best, at = np.int64(-1), np.int64(-1)
        if tree.directories[node] >= 0:
            for predicate in range(sets.starts[conjunction], sets.starts[conjunction + 1]):
                found = np.int64(tree.slots[slot_of(tree, node, sets.fields[predicate])])
                if found >= 0 and (best < 0 or tree.p_scores[found] > tree.p_scores[best]):
                    best, at = found, predicate
        if best < 0:
            break
        tree.p_scores[best] += _gain(sets, operand_starts, at)
        node = np.int64(tree.p_tops[best])
        while True:
            half = _half(tree, sets, node, at)
            if half < 0:
                break
            node = half
    add(tree, node, conjunction)


@kernel
def _half(tree: Growing, sets: CodeSets, node: int, predicate: int) -> int:
    """The half of a halved c-node that covers a predicate, made if it is not there; -1 if neither does."""
    if not tree.halved[node]:
        return np.int64(-1)
    low = np.int64(sets.lows[sets.range_starts[predicate]])
    high = np.int64(sets.highs[sets.range_starts[predicate + 1] - 1])
    middle = (np.int64(tree.lows[node]) + tree.highs[node]) >> 1
    if high <= middle:
        if tree.lefts[node] < 0:
            tree.lefts[node] = new_node(tree, tree.fields[node], tree.lows[node], middle, node, tree.partitions[node])
        return np.int64(tree.lefts[node])
    if low > middle:
        if tree.rights[node] < 0:
            tree.rights[node] = new_node(
                tree, tree.fields[node], middle + 1, tree.highs[node], node, tree.partitions[node]
            )
        return np.int64(tree.rights[node])
    return np.int64(-1)


@inlined
def _gain(sets: CodeSets, operand_starts: NDArray[np.int64], predicate: int) -> float:
    """1, less the share of its field's codes that a predicate allows."""
    allowed = np.int64(0)
    for i in range(sets.range_starts[predicate], sets.range_starts[predicate + 1]):
        allowed += np.int64(sets.highs[i]) - sets.lows[i] + 1
    field = sets.fields[predicate]
    return 1.0 - allowed / (2.0 * (operand_starts[field + 1] - operand_starts[field]) + 1.0)


@kernel
def _cluster(tree: Growing, sets: CodeSets, node: int) -> None:
    """Halve a c-node's range, and move what a half covers."""
    tree.halved[node] = 1
    conjunction = np.int64(tree.members[node])
    tree.members[node] = -1
    tree.counts[node] = 0
    while conjunction >= 0:
        following = np.int64(tree.nexts[conjunction])
        half = _half(tree, sets, node, predicate_on(sets, conjunction, tree.fields[node]))
        add(tree, node if half < 0 else half, conjunction)
        conjunction = following


@kernel
def _partition(tree: Growing, sets: CodeSets, operand_starts: NDArray[np.int64], node: int) -> None:
    """Make a p-node of the best attribute that is left, and move what has it; or else know that all are stuck."""
    field = _best_field(tree, sets, operand_starts, node)
    if field < 0:
        tree.stuck[node] = tree.counts[node]
        return
    last = 2 * (operand_starts[field + 1] - operand_starts[field])
    partition = new_partition(tree, node, field)
    top = new_node(tree, field, 0, last, -1, partition)
    tree.p_tops[partition] = top
    fresh = tree.counts[node] - tree.stuck[node]
    before, conjunction = np.int64(-1), np.int64(tree.members[node])
    for _ in range(fresh):
        following = np.int64(tree.nexts[conjunction])
        predicate = predicate_on(sets, conjunction, field)
        if predicate < 0:
            before = conjunction
        else:
            unlink(tree, node, before, conjunction)
            tree.p_scores[partition] += _gain(sets, operand_starts, predicate)
            add(tree, top, conjunction)
        conjunction = following


@kernel
def _best_field(tree: Growing, sets: CodeSets, operand_starts: NDArray[np.int64], node: int) -> int:
    """The field of highest score in an l-node that no p-node above is about, the lowest of several; -1 for none."""
    scores, touched = tree.scores, tree.touched
    partition = tree.partitions[node]
    while partition >= 0:
        scores[tree.p_fields[partition]] = -np.inf
        partition = tree.partitions[tree.p_owners[partition]]
    count = 0
    conjunction = np.int64(tree.members[node])
    for _ in range(tree.counts[node] - tree.stuck[node]):
        for predicate in range(sets.starts[conjunction], sets.starts[conjunction + 1]):
            field = sets.fields[predicate]
            if scores[field] == 0.0:
                touched[count] = field
                count += 1
                scores[field] = 1e-9  # so that no sum is 0
            scores[field] += _gain(sets, operand_starts, predicate)
        conjunction = np.int64(tree.nexts[conjunction])
    best = np.int64(-1)
    for i in range(count):
        field = np.int64(touched[i])
        if best < 0 or scores[field] > scores[best] or (scores[field] == scores[best] and field < best):
            best = field
    for i in range(count):
        scores[touched[i]] = 0.0
    partition = tree.partitions[node]
    while partition >= 0:
        scores[tree.p_fields[partition]] = 0.0
        partition = tree.partitions[tree.p_owners[partition]]
    return best


@kernel
def delete(tree: Growing, sets: CodeSets, operand_starts: NDArray[np.int64], conjunction: int) -> bool:
    """Take a conjunction out, and the nodes that have nothing left; False where it is not there."""
    tree, sets, operand_starts = borrowed((tree, sets, operand_starts))
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
        predicate = predicate_on(sets, conjunction, tree.p_fields[partition])
        tree.p_scores[partition] -= _gain(sets, operand_starts, predicate)
        partition = np.int64(tree.partitions[tree.p_owners[partition]])
    while node > 0 and is_empty(tree, node):
        node = remove(tree, node)
    return True
