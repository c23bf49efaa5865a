"""Recent expressions of an engine in a structure that changes in place, whatever the structure is.

`InPlace` says when a structure changes: a match inserts the expressions that came since the last one, and deletes those
that were removed. The structure says how, by the protocol `Changing`. Decision 0086 has the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.pools import Pools
from tocsin.errors import UnsuitableIndex
from tocsin.index.alive import living
from tocsin.index.protocols import RecentMatcher


class BeginAnew(Exception):
    """A structure cannot go on with what it knows, but a new one can hold the same expressions."""


class Changing(Protocol):
    """A structure of expressions, empty at first. One thread at a time changes it."""

    def is_outgrown(self, pools: Pools) -> bool:
        """Whether so much is new that making all anew costs less."""

    def part_from_readers(self) -> None:
        """Copy what changes in place, so that readers of earlier results may go on."""

    def delete(self, numbers: NDArray[np.int64]) -> None:
        """Delete inserted expressions, ascending."""

    def read(self, compiled: CompiledExpressions, pools: Pools, first: int) -> None:
        """Read the expressions from number `first` on. Raises `UnsuitableIndex`, or `BeginAnew` unless it is empty."""

    def insert(self, numbers: NDArray[np.int64]) -> None:
        """Insert expressions that were read, ascending."""

    def matching(self, compiled: CompiledExpressions, pools: Pools) -> RecentMatcher:
        """How to match what is inserted. It stays as it is until the next change."""


class InPlace:
    """A `Recent` around a structure that `new` makes, from the pools of the expressions that it will hold.

    The structure is absent while it changes. So after a failure the next match makes it anew.
    """

    def __init__(self, new: Callable[[Pools], Changing]) -> None:
        self._new = new
        self._state: _State | None = None
        self._is_refused = False

    def matching(
        self, compiled: CompiledExpressions, pools: Pools, alive: NDArray[np.uint64], *, is_read: bool
    ) -> RecentMatcher | None:
        """How to match the live expressions; None if the structure cannot hold one of them.

        `is_read` says that an earlier result may be in use.
        """
        if self._is_refused:
            return None
        state, self._state = self._state, None
        try:
            if state is None or (state.count < len(compiled) and state.structure.is_outgrown(pools)):
                state = _State(self._new(pools))
            try:
                state.keep_up(compiled, pools, alive, is_read)
            except BeginAnew:
                state = _State(self._new(pools))
                state.keep_up(compiled, pools, alive, is_read)
        except UnsuitableIndex:
            self._is_refused = True
            return None
        self._state = state
        return state.matching


class _State:
    """A structure, and which expressions it holds. `matching` is of the last `keep_up`."""

    def __init__(self, structure: Changing) -> None:
        self.structure = structure
        self.matching: RecentMatcher | None = None
        self.count = 0  # expressions read so far
        self._present = np.zeros(1, np.uint64)  # a bit for each expression that is inserted

    def keep_up(self, compiled: CompiledExpressions, pools: Pools, alive: NDArray[np.uint64], is_read: bool) -> None:
        """Insert the expressions that are new, and delete those that are no longer alive."""
        gone, count = self._present & ~alive[: len(self._present)], len(compiled)
        if self.matching is not None and count == self.count and not gone.any():
            return
        if is_read:
            self.structure.part_from_readers()
        if gone.any():
            self.structure.delete(living(gone, self.count))
            self._present &= ~gone
        if count > self.count:
            self.structure.read(compiled, pools, self.count)
            numbers = living(alive, count)
            numbers = numbers[numbers >= self.count]
            self.structure.insert(numbers)
            self._mark(numbers)
            self.count = count
        self.matching = self.structure.matching(compiled, pools)

    def _mark(self, numbers: NDArray[np.int64]) -> None:
        """Record that expressions are inserted."""
        present = np.zeros(max(int(numbers.max(initial=0)) // 64 + 1, len(self._present)), np.uint64)
        present[: len(self._present)] = self._present
        np.bitwise_or.at(present, numbers >> 6, np.uint64(1) << (numbers & 63).astype(np.uint64))
        self._present = present
