"""A BE-tree from which conjunctions can be deleted, together with nodes that become empty."""

from __future__ import annotations

from reproduce.be_tree.kernels import delete
from tocsin.papers.opindex.be_tree.growing import GrowingTree
from tocsin.papers.opindex.be_tree.kernels.nodes import NODES, PARTITIONS


class ShrinkingTree(GrowingTree):
    """A BE-tree with deletion."""

    def delete(self, number: int) -> bool:
        """Delete a conjunction, and the nodes that become empty. False if it is not in the tree.

        Cost: its l-node, its path, and the directories of the removed nodes.
        """
        return bool(delete(self._growth(), number))

    def room(self) -> tuple[int, int]:
        """The largest numbers of c-nodes and p-nodes that existed at once."""
        return int(self._tree.state[NODES]), int(self._tree.state[PARTITIONS])
