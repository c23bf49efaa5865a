"""A growing BE-tree: conjunctions are inserted one at a time by a kernel, with room allocated here."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.papers.opindex.be_tree.kernels.finding import Tree
from tocsin.papers.opindex.be_tree.kernels.growing import Growth, insert
from tocsin.papers.opindex.be_tree.kernels.nodes import (
    FREE_NODE,
    FREE_PARTITION,
    NODES,
    STATE,
    Growing,
    fill_slots,
    in_order,
)
from tocsin.papers.opindex.conjunctions.code_sets import CodedConjunctions

_FIRST_ROOM: Final = 1 << 10
_BYTES: Final = ("halved", "waiting")


class BETreeLayout(NamedTuple):
    """A BE-tree laid out for matching, and its conjunctions in the order of their l-nodes."""

    tree: Tree
    conjunctions: CodedConjunctions


class GrowingTree:
    """A BE-tree over some of the given conjunctions, empty at first. Not to be shared between threads.

    `max_cap` is the largest number of conjunctions in an l-node before it is split.
    """

    def __init__(self, conjunctions: CodedConjunctions, max_cap: int) -> None:
        self._conjunctions = conjunctions
        self._most = max_cap
        count, fields = len(conjunctions), len(conjunctions.fields.kinds)
        nodes = Growing._fields[: Growing._fields.index("p_fields")]
        arrays: dict[str, NDArray[Any]] = {
            name: np.zeros(_FIRST_ROOM, np.uint8) if name in _BYTES else np.full(_FIRST_ROOM, -1, np.int32)
            for name in nodes
        }
        arrays |= {name: np.full(_FIRST_ROOM, -1, np.int32) for name in Growing._fields if name.startswith("p_")}
        arrays["p_scores"] = np.zeros(_FIRST_ROOM, np.float64)
        arrays["slots"] = np.full(2 * _FIRST_ROOM, -1, np.int32)
        arrays["homes"], arrays["nexts"] = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        arrays["scores"], arrays["touched"] = np.zeros(fields, np.float64), np.empty(fields, np.int32)
        arrays["state"] = np.zeros(STATE, np.int64)
        self._tree = Growing(**arrays)
        self._tree.state[NODES] = 1
        self._tree.state[[FREE_NODE, FREE_PARTITION]] = -1
        self._tree.counts[0] = self._tree.stuck[0] = 0

    def insert(self, numbers: NDArray[np.int32]) -> None:
        """Insert new conjunctions, in the given order.

        Cost: O(predicates) for each level that a conjunction descends; an overflowing l-node is moved as a whole.
        """
        place = 0
        while place <= len(numbers):
            place = insert(self._growth(), numbers, place, self._most)
            if place <= len(numbers):
                self._grow()

    def layout(self) -> BETreeLayout:
        """The current tree, laid out for matching."""
        tree = self._tree
        nodes, conjunctions = in_order(tree)
        living = tree.slots[tree.slots >= 0]
        numbers = np.full(len(tree.fields) + 1, -1)  # the last entry maps -1 to -1
        numbers[nodes] = np.arange(len(nodes))
        owners = numbers[tree.p_owners[living]]
        order = np.lexsort((tree.p_fields[living], owners))
        living, owners = living[order], owners[order]
        tables = (
            tree.fields[nodes],
            tree.lows[nodes],
            tree.highs[nodes],
            numbers[tree.lefts[nodes]],
            numbers[tree.rights[nodes]],
            np.concatenate([[0], np.cumsum(tree.counts[nodes])]),
            np.searchsorted(owners, np.arange(len(nodes) + 1)),
            tree.p_fields[living],
            numbers[tree.p_tops[living]],
        )
        types = [np.int64 if name.endswith("starts") else np.int32 for name in Tree._fields]
        frozen_tree = Tree(*(frozen(table, kind) for table, kind in zip(tables, types, strict=True)))
        return BETreeLayout(frozen_tree, self._conjunctions.reordered(conjunctions.astype(np.int64)))

    def _growth(self) -> Growth:
        held = self._conjunctions
        return Growth(self._tree, held.sets, held.fields.operand_starts)

    def _grow(self) -> None:
        """Double the room for c-nodes and p-nodes, and rebuild the slots."""
        fixed = ("homes", "nexts", "scores", "touched", "state", "slots")
        grown = {
            name: array
            if name in fixed
            else np.concatenate([array, np.full_like(array, -1 if array.dtype == np.int32 else 0)])
            for name, array in self._tree._asdict().items()
        }
        grown["slots"] = np.full(2 * len(grown["slots"]), -1, np.int32)
        self._tree = Growing(**grown)
        fill_slots(self._tree)
