"""The tables of a k-index."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.tables import bytes_of_table, new_table
from tocsin.papers.opindex.k_index.kernels.finding import HeldLists
from tocsin.papers.opindex.k_index.kernels.lists import ListsRoom, PostingLists
from tocsin.papers.opindex.k_index.kernels.values import PAIRS_BESIDE
from tocsin.papers.opindex.k_index.members import Members

EXACT: Final = 2**53
"""float64 represents all integers from -EXACT to EXACT exactly."""


class KLayout(NamedTuple):
    """Members, in order of size, and their posting lists."""

    expressions: CompiledExpressions
    fields: Fields
    members: Members
    lists: PostingLists

    def held(self) -> HeldLists:
        """The tables for matching."""
        return HeldLists(self.lists, self.members.starts, self.members.sets)

    def deepest(self) -> int:
        """The largest number of lists of one size under a pair."""
        lists = self.lists
        pairs = np.repeat(np.arange(len(lists.list_starts) - 1), np.diff(lists.list_starts))
        firsts = np.flatnonzero(np.diff(pairs * len(lists.size_starts) + lists.list_sizes, prepend=-1))
        return int(np.diff(firsts, append=len(lists.list_sizes)).max(initial=1))

    def new_room(self, deepest: int, widest: int) -> ListsRoom:
        """Memory for events of at most `widest` values, each of which may open all of its pairs."""
        pairs = (PAIRS_BESIDE + 1) * widest
        return new_table(
            ListsRoom,
            pairs=pairs,
            lists=pairs * deepest,
            largest=len(self.lists.size_starts) - 1,
            fields=len(self.fields.kinds),
        )

    def nbytes(self) -> int:
        """Bytes of all tables, without values, operands and expressions."""
        return self.members.nbytes() + bytes_of_table((self.lists, self.fields)) - self.value_bytes()

    def value_bytes(self) -> int:
        """Bytes of values and operands."""
        return int(self.lists.values.nbytes + self.fields.operands.nbytes)
