"""What do Matchers that find by a part of an expression have in common? All but how they find."""

from __future__ import annotations

import threading
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.alive import Alive
from tocsin.index.expressions import OverExpressions
from tocsin.index.found import Found
from tocsin.index.narrowing.kernels import Coming, Room, keep_verified
from tocsin.index.protocols import Best
from tocsin.kernels.codes import LANES
from tocsin.kernels.programs.blocks import widest_block
from tocsin.kernels.programs.memory import new_verifier


class Narrowing(OverExpressions):
    """A `Matcher` but for `find`, `places` and `place`: what it finds is verified where `asks_more` says so."""

    def __init__(
        self, compiled: CompiledExpressions, asks_more: NDArray[np.bool_], structure: int = 0, dictionaries: int = 0
    ) -> None:
        super().__init__(compiled, structure, dictionaries)
        self._asks_more = asks_more
        self._verifies = bool(asks_more.any())
        self._threads = threading.local()

    @abstractmethod
    def find(self, coming: Coming, seen: Any) -> Found:
        """What holds as far as it narrows, and is alive."""

    @abstractmethod
    def new_memory(self) -> Any:
        """What `find` writes to: each thread has its own."""

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        bound = (self._binder.bind_to_walk if self._verifies else self._binder.bind)(batch)
        coming = Coming(batch.arrays, bound, self._everyone if alive is None else alive, alive is not None)
        found = self.find(coming, self._memory())
        return self._verified(coming, found) if self._verifies else found

    def _verified(self, coming: Coming, found: Found) -> Found:
        """What holds as a whole."""
        arrays, events, bound = self._compiled.arrays, coming.events, coming.bound
        entries = widest_block(events.starts, LANES)
        verifier = new_verifier(len(arrays.leaf_kinds), len(self.attributes), entries)
        room = Room(
            np.zeros(len(self), np.uint64), np.empty(len(self) + 1, np.uint64), np.empty(len(self) + 1, np.int32)
        )
        starts, numbers = found.starts, found.subscriptions
        walked = keep_verified(arrays, verifier, events, bound, self._asks_more, starts, numbers, room)
        return Found(starts, numbers[: starts[-1]], found.candidates_examined, int(walked))

    def _memory(self) -> Any:
        """This thread's memory."""
        kept = getattr(self._threads, "seen", None)
        if kept is None:
            kept = self._threads.seen = self.new_memory()
        return kept
