"""The linear scan: it tests every expression. It is exact, and the baseline that every index is compared with.

It takes 64 events at a time, bit-parallel. A predicate that many expressions share is computed once for all 64. An
expression stops at the first predicate that leaves no event.

Cost: O(E * S / 64) mask operations for E events and S subscriptions, plus each distinct predicate once per block of 64
events. It has no structure beyond the compiled expressions. `candidates_examined` is E * S.
"""

from __future__ import annotations

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.leaf_order import eager_first
from tocsin.columns.expressions.stored import restored
from tocsin.index.alive import Alive
from tocsin.index.expressions import OverExpressions
from tocsin.index.found import Found, collect, only_alive
from tocsin.index.protocols import Arrays, Best
from tocsin.index.statistics import Statistics
from tocsin.kernels.codes import LANES
from tocsin.kernels.programs.blocks import widest_block
from tocsin.kernels.programs.memory import new_verifier
from tocsin.kernels.programs.verify import match_all


class Scan(OverExpressions):
    """The linear Matcher."""

    @classmethod
    def build(cls, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Scan:
        """Build from compiled expressions; statistics are not used."""
        return cls(eager_first(compiled))

    @classmethod
    def load(cls, arrays: Arrays) -> Scan:
        return cls(restored(arrays))

    def places(self) -> dict[str, int]:
        return {"verified on every event": len(self)}

    def place(self, number: int) -> str:
        return "verified on every event"

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        bound = self._binder.bind_to_walk(batch)
        arrays = self._compiled.arrays
        entries = widest_block(batch.arrays.starts, LANES)
        verifier = new_verifier(len(arrays.leaf_kinds), len(self.attributes), entries, int(arrays.eager_starts[-1]))
        tested = len(batch) * len(self._compiled)
        starts, subscriptions = collect(
            len(batch),
            lambda first, ends, out: match_all(arrays, verifier, batch.arrays, bound, first, ends, out),
        )
        return only_alive(Found(starts, subscriptions, tested, tested), alive)
