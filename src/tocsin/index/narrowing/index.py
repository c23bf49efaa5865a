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
        batch.require_values()
        bound = (self._binder.bind_to_walk if self._verifies else self._binder.bind)(batch)
        coming = Coming(batch.arrays, bound, self._everyone if alive is None else alive, alive is not None)
        found = self.find(coming, self._memory())
        return verified(self._compiled, self._asks_more, coming, found)

    def _memory(self) -> Any:
        """This thread's memory."""
        kept = getattr(self._threads, "seen", None)
        if kept is None:
            kept = self._threads.seen = self.new_memory()
        return kept


def verified(compiled: CompiledExpressions, asks_more: NDArray[np.bool_], coming: Coming, found: Found) -> Found:
    """What was found and holds as a whole; who does not ask for more does. `coming` is bound to walk."""
    if not asks_more.any():
        return found
    arrays, events, count = compiled.arrays, coming.events, len(compiled)
    entries = widest_block(events.starts, LANES)
    verifier = new_verifier(len(arrays.leaf_kinds), len(compiled.attributes), entries)
    room = Room(np.zeros(count, np.uint64), np.empty(count + 1, np.uint64), np.empty(count + 1, np.int32))
    starts, numbers = found.starts, found.subscriptions
    walked = keep_verified(arrays, verifier, events, coming.bound, asks_more, starts, numbers, room)
    return found._replace(subscriptions=numbers[: starts[-1]], verified=int(walked))
