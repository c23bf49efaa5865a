"""How does a BE-tree shrink again? A conjunction goes, and each node that has nothing left."""

from __future__ import annotations

from reproduce.be_tree.kernels import delete
from tocsin.papers.opindex.be_tree.growing import GrowingTree
from tocsin.papers.opindex.be_tree.kernels.nodes import NODES, PARTITIONS


class ShrinkingTree(GrowingTree):
    """A BE-tree that conjunctions can be taken out of."""

    def delete(self, number: int) -> bool:
        """Delete a conjunction, and the nodes that are empty without it; False where it is not there.

        Cost: its l-node, its path, and the directories of the nodes that go.
        """
        return bool(delete(self._growth(), number))

    def room(self) -> tuple[int, int]:
        """How many c-nodes and p-nodes were ever there at once."""
        return int(self._tree.state[NODES]), int(self._tree.state[PARTITIONS])
