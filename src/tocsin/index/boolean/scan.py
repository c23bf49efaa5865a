"""Which expressions does this event satisfy? `scan` tests them all: exact, and what every index is held against.

64 events at a time, bit-parallel: a predicate that many expressions share is computed once for all 64, and an
expression stops at the first predicate that leaves no event.

Cost: O(E * S / 64) mask operations for E events and S subscriptions, plus each distinct predicate once per block of
64 events; no structure beside the compiled expressions. `candidates_examined` is E * S.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.batch import EventBatch
from tocsin.columns.binding import Binder
from tocsin.columns.compiled import CompiledExpressions
from tocsin.index.protocols import Arrays, Found
from tocsin.kernels.verify import match_all

_FIRST_ROOM = 1 << 14


class Scan:
    """The linear Matcher."""

    def __init__(self, compiled: CompiledExpressions) -> None:
        self._compiled = compiled
        self._binder = Binder(compiled)

    @classmethod
    def build(cls, compiled: CompiledExpressions) -> Scan:
        return cls(compiled)

    @classmethod
    def load(cls, compiled: CompiledExpressions, arrays: Arrays) -> Scan:
        return cls(compiled)

    def arrays(self) -> Arrays:
        return {}

    def match(self, batch: EventBatch) -> Found:
        bound = self._binder.bind(batch)
        pieces: list[tuple[np.ndarray, np.ndarray]] = []
        room, first = _FIRST_ROOM, 0
        while first < len(batch):
            events, subscriptions = np.empty(room, np.int64), np.empty(room, np.int32)
            next_event, count = match_all(self._compiled.arrays, batch.arrays, bound, first, events, subscriptions)
            if next_event < 0:
                room = max(2 * room, -1 - next_event)
                continue
            pieces.append((events[:count], subscriptions[:count]))
            room, first = min(2 * room, 1 << 22), next_event
        tested = len(batch) * len(self._compiled)
        if not pieces:
            return Found(np.empty(0, np.int64), np.empty(0, np.int32), tested, tested)
        return Found(np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces]), tested, tested)
