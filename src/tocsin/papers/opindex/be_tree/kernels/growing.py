"""Insertion into a BE-tree, and splitting of l-nodes that overflow.

Sadoghi and Jacobsen 2011. A conjunction enters the p-node of highest score among those of its attributes, then the
smallest c-node whose range covers its predicate, and so on downwards. When an l-node overflows, its c-node's range is
first *clustered*, which halves it. Then the l-node is *partitioned* by the attribute of highest score not used above.

The published scores were not available (docs/papers/be_tree.md). Here a conjunction counts 1 for its attribute's
popularity, minus the share of the attribute's codes that its predicate allows, which are events it will not filter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import CodeSets, predicate_on
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.papers.opindex.be_tree.kernels.nodes import (
    WAITING,
    Growing,
    add,
    has_room,
    new_node,
    new_partition,
    slot_of,
    unlink,
)


class Growth(NamedTuple):
    """A tree, and the conjunctions to insert. D fields."""

    tree: Growing
    sets: CodeSets
    operand_starts: NDArray[np.int64]  # (D + 1,) as in `Fields`


@kernel
def insert(growing: Growth, conjunctions: NDArray[np.int32], first: int, most: int) -> int:
    """Insert conjunctions from place `first` on, with at most `most` in an l-node. Returns the place to continue from.

    The result is their number + 1 when all are inserted. Otherwise the caller must make more room and continue.
    """
    growth = viewed(growing)
    tree = growth.tree
    for i in range(first, len(conjunctions) + 1):
        if not _settle(growth, most) or not has_room(tree):
            return i
        if i < len(conjunctions):
            _insert_one(growth, np.int64(conjunctions[i]))
    return len(conjunctions) + 1


@inner
def _settle(growth: Growth, most: int) -> bool:
    """Cluster and partition until no l-node overflows; False if there is no room."""
    tree = growth.tree
    state = tree.state
    while state[WAITING] > 0:
        node = np.int64(tree.stack[state[WAITING] - 1])
        if tree.counts[node] <= max(most, tree.stuck[node]):
            tree.waiting[node] = 0
            state[WAITING] -= 1
        elif not has_room(tree):
            return False
        elif tree.fields[node] >= 0 and not tree.halved[node] and tree.lows[node] < tree.highs[node]:
            _cluster(growth, node)
        else:
            _partition(growth, node)
    return True


@inner
def _insert_one(growth: Growth, conjunction: int) -> None:
    """Descend to the l-node of a conjunction, and add it."""
    tree, sets = growth.tree, growth.sets
    node = np.int64(0)
    while True:
        best, at = np.int64(-1), np.int64(-1)
        if tree.directories[node] >= 0:
            for predicate in range(sets.starts[conjunction], sets.starts[conjunction + 1]):
                found = np.int64(tree.slots[slot_of(tree, node, np.int64(sets.fields[predicate]))])
                if found >= 0 and (best < 0 or tree.p_scores[found] > tree.p_scores[best]):
                    best, at = found, predicate
        if best < 0:
            break
        tree.p_scores[best] += gain(growth, at)
        node = np.int64(tree.p_tops[best])
        while True:
            half = _half(growth, node, at)
            if half < 0:
                break
            node = half
    add(tree, node, conjunction)


@inner
def _half(growth: Growth, node: int, predicate: int) -> int:
    """The half of a halved c-node that covers a predicate, created if missing; -1 if neither half covers it."""
    tree, sets = growth.tree, growth.sets
    if not tree.halved[node]:
        return np.int64(-1)
    field, partition = np.int64(tree.fields[node]), np.int64(tree.partitions[node])
    first, last = np.int64(tree.lows[node]), np.int64(tree.highs[node])
    middle = (first + last) >> 1
    if sets.highs[sets.range_starts[predicate + 1] - 1] <= middle:
        if tree.lefts[node] < 0:
            tree.lefts[node] = new_node(tree, field, first, middle, partition)
        return np.int64(tree.lefts[node])
    if sets.lows[sets.range_starts[predicate]] > middle:
        if tree.rights[node] < 0:
            tree.rights[node] = new_node(tree, field, middle + 1, last, partition)
        return np.int64(tree.rights[node])
    return np.int64(-1)


@inlined
def gain(growth: Growth, predicate: int) -> float:
    """1 minus the share of its field's codes that a predicate allows."""
    sets, operand_starts = growth.sets, growth.operand_starts
    allowed = np.int64(0)
    for i in range(sets.range_starts[predicate], sets.range_starts[predicate + 1]):
        allowed += np.int64(sets.highs[i]) - sets.lows[i] + 1
    field = sets.fields[predicate]
    return 1.0 - allowed / (2.0 * (operand_starts[field + 1] - operand_starts[field]) + 1.0)


@inner
def _cluster(growth: Growth, node: int) -> None:
    """Halve a c-node's range, and move the conjunctions that a half covers."""
    tree, sets = growth.tree, growth.sets
    tree.halved[node] = 1
    conjunction = np.int64(tree.members[node])
    tree.members[node] = -1
    tree.counts[node] = 0
    while conjunction >= 0:
        following = np.int64(tree.nexts[conjunction])
        half = _half(growth, node, predicate_on(sets, conjunction, np.int64(tree.fields[node])))
        add(tree, node if half < 0 else half, conjunction)
        conjunction = following


@inner
def _partition(growth: Growth, node: int) -> None:
    """Make a p-node for the best remaining attribute and move its conjunctions; without one, mark all as stuck."""
    tree, sets, operand_starts = growth.tree, growth.sets, growth.operand_starts
    field = _best_field(growth, node)
    if field < 0:
        tree.stuck[node] = tree.counts[node]
        return
    last = 2 * (operand_starts[field + 1] - operand_starts[field])
    partition = new_partition(tree, node, field)
    top = new_node(tree, field, 0, last, partition)
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
            tree.p_scores[partition] += gain(growth, predicate)
            add(tree, top, conjunction)
        conjunction = following


@inner
def _best_field(growth: Growth, node: int) -> int:
    """The field of highest score in an l-node that no p-node above uses; ties go to the lowest field; -1 if none."""
    tree, sets = growth.tree, growth.sets
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
            scores[field] += gain(growth, predicate)
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
