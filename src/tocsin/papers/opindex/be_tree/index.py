"""The BE-tree, a baseline for Boolean expressions that partitions space by attribute and value.

Conjunctions are alternately partitioned by attribute and clustered by ranges of its values, until an l-node has few. An
event descends wherever it has the attribute and its value lies in the range. It tests the conjunctions of every l-node
that it reaches.

Cost: O(c-nodes reached * values of the event + conjunctions reached) an event. The tree is built by insertion, one
conjunction at a time. `candidates_examined` counts the conjunctions reached; all of them are verified.

Source: Sadoghi and Jacobsen 2011; Zhang et al. 2014, section 3, Figure 3. Departs: the domain of an attribute is its
rank codes; scores and overflow are reconstructed; l-nodes are scanned. See docs/papers/be_tree.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import InvalidInput
from tocsin.index.alive import Alive
from tocsin.index.expressions import OverExpressions, RebuiltOnLoad
from tocsin.index.found import Found
from tocsin.index.protocols import Best
from tocsin.index.statistics import Statistics
from tocsin.language.canonical import name_text
from tocsin.model.readings import attribute_of
from tocsin.papers.opindex.be_tree.growing import BETreeLayout, GrowingTree
from tocsin.papers.opindex.be_tree.kernels.finding import HeldTree, TreeRoom
from tocsin.papers.opindex.conjunctions.code_sets import CodedConjunctions
from tocsin.papers.opindex.conjunctions.matching import FindsConjunctions

MAX_CAP: Final = 5
"""The value in Zhang et al. 2014 (section 7.2): slow to build, fast to match."""


@dataclass(frozen=True, slots=True)
class BETreeBuilder(RebuiltOnLoad):
    """Builds a BE-tree whose l-nodes have at most `max_cap` conjunctions, unless no attribute is left to split them.

    Raises `InvalidInput` if `max_cap` is below 1.
    """

    max_cap: int = MAX_CAP

    def __post_init__(self) -> None:
        if self.max_cap < 1:
            raise InvalidInput(f"max_cap of be_tree is {self.max_cap}; it must be at least 1.")

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> BETree:
        """Insert the conjunctions one by one. Statistics are ignored. Raises `UnsuitableIndex`."""
        conjunctions = CodedConjunctions.of(compiled)
        growing = GrowingTree(conjunctions, self.max_cap)
        growing.insert(np.arange(len(conjunctions), dtype=np.int32))
        return BETree(growing.layout())


class BETree(OverExpressions):
    """The Matcher over a finished BE-tree."""

    def __init__(self, layout: BETreeLayout) -> None:
        tree, held = layout
        nodes = sum(array.nbytes for array in tree)
        super().__init__(held.expressions, nodes + held.nbytes(), held.fields.operands.nbytes)
        self._layout = layout
        self._matching = FindsConjunctions(HeldTree(tree, held.sets), self._new_room, held.fields, held.owners)

    @property
    def layout(self) -> BETreeLayout:
        """The tree and its conjunctions."""
        return self._layout

    def places(self) -> dict[str, int]:
        """Subscriptions by their number of conjunctions."""
        return self._layout.conjunctions.counts()

    def place(self, number: int) -> str:
        """The attributes on the path to each of the subscription's conjunctions. Cost: linear in the tree."""
        found = np.flatnonzero(self._layout.conjunctions.owners == number)
        if not len(found):
            return "never satisfied"
        return "; ".join(self._way(int(conjunction)) for conjunction in found[:8])

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        batch.require_values()
        living = self._everyone if alive is None else alive
        return self._matching.match(batch, self._binder.bind(batch), living)

    def _new_room(self, widest: int) -> TreeRoom:
        tree, held = self._layout
        return TreeRoom(np.full(len(held.fields.kinds), -1, np.int32), np.empty(len(tree.fields), np.int32))

    def _way(self, conjunction: int) -> str:
        """The p-nodes on the path from the root to a conjunction."""
        tree, fields = self._layout.tree, self._layout.conjunctions.fields
        node = int(np.searchsorted(tree.member_starts, conjunction, side="right")) - 1
        names = []
        while node > 0:
            halves = np.flatnonzero((tree.lefts == node) | (tree.rights == node))
            if len(halves):
                node = int(halves[0])
                continue
            p_node = int(np.flatnonzero(tree.p_tops == node)[0])
            attribute = int(np.searchsorted(fields.starts, tree.p_fields[p_node], side="right")) - 1
            names.append(name_text(attribute_of(self.attributes[attribute])))
            node = int(np.searchsorted(tree.directory_starts, p_node, side="right")) - 1
        return f"below {', then '.join(reversed(names))}" if names else "at the root"
