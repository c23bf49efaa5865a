"""The Matcher over any structure of boxes (filter and refine)."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import UnsuitableIndex
from tocsin.index.alive import Alive
from tocsin.index.expressions import OverExpressions
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.filtering.kernels.matching import match_events
from tocsin.index.filtering.kernels.verifying import Room, keep_verified
from tocsin.index.found import Found, collect
from tocsin.index.protocols import Best
from tocsin.index.tables import bytes_of_table
from tocsin.kernels.codes import LANES
from tocsin.kernels.programs.blocks import widest_block
from tocsin.kernels.programs.memory import new_verifier


class Held(Protocol):
    """Expressions, and the box by which each is found. S subscriptions."""

    FOUND_BY: ClassVar[tuple[str, str]]
    """How an expression is found, in words, and how if it asks for more."""

    @property
    def expressions(self) -> CompiledExpressions: ...

    @property
    def asks_more(self) -> NDArray[np.bool_]:
        """(S,) whether each asks for more than it is found by."""

    @property
    def tables(self) -> Any:
        """The kernels' tables; their layout registers how to read them (`kernels.matching.register_tables`)."""

    def finds(self) -> NDArray[np.bool_]:
        """(S,) which subscriptions can be found; the others never hold."""

    def place(self, number: int) -> str:
        """How a subscription is found, in words."""

    def nbytes(self) -> int:
        """Bytes of tables, without expressions and operands."""

    def operand_bytes(self) -> int:
        """Bytes of operands, which count as dictionaries."""

    def new_seen(self, *, stamps: bool) -> Any:
        """A thread's memory for kernels; with `stamps` they record which subscriptions were met."""


AnyHeld = TypeVar("AnyHeld", bound=Held)


class FilterAndRefine(OverExpressions, Generic[AnyHeld]):
    """A `Matcher` that verifies what a structure finds, if it asks for more.

    `structure` is a table that `kernels.matching.find` is registered for. `stamps` says that it needs to know which
    subscriptions were met.
    """

    def __init__(self, held: AnyHeld, structure: Any, *, stamps: bool = False) -> None:
        super().__init__(held.expressions, bytes_of_table(structure) + held.nbytes(), held.operand_bytes())
        self.held = held
        self.structure = structure
        self._stamps = stamps
        self._verifies = bool(held.asks_more.any())
        self._threads = threading.local()

    def finds(self) -> NDArray[np.bool_]:
        """(S,) which subscriptions it can find; the others never hold."""
        return self.held.finds()

    def places(self) -> dict[str, int]:
        found = self.held.finds()
        more = int((found & self.held.asks_more).sum())
        alone, and_more = self.held.FOUND_BY
        count = int(found.sum())
        return {alone: count - more, and_more: more, "never satisfied": len(self) - count}

    def place(self, number: int) -> str:
        """How a subscription is found. Cost: linear."""
        if not self.held.finds()[number]:
            return "never satisfied"
        return self.held.place(number) + ("; the other conditions are verified" if self.held.asks_more[number] else "")

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        batch.require_values()
        bound = (self._binder.bind_to_walk if self._verifies else self._binder.bind)(batch)
        coming = Coming(batch.arrays, bound, self._everyone if alive is None else alive, alive is not None)
        found = self.find(coming, self._memory())
        return verified(self._compiled, self.held.asks_more, coming, found)

    def find(self, coming: Coming, seen: Any) -> Found:
        """The live subscriptions that hold as far as their boxes say."""
        return found_by(self.structure, self.held.tables, coming, seen)

    def _memory(self) -> Any:
        """This thread's memory."""
        kept = getattr(self._threads, "seen", None)
        if kept is None:
            kept = self._threads.seen = self.held.new_seen(stamps=self._stamps)
        return kept


def found_by(structure: Any, tables: Any, coming: Coming, seen: Any) -> Found:
    """The subscriptions of some tables that a structure finds."""
    counts = np.zeros(1, np.int64)
    starts, found = collect(
        len(coming.events.starts) - 1,
        lambda first, ends, out: match_events(structure, tables, coming, seen, first, ends, out, counts),
    )
    return Found(starts, found, int(counts[0]), 0)


def verified(compiled: CompiledExpressions, asks_more: NDArray[np.bool_], coming: Coming, found: Found) -> Found:
    """The matches among what was found; subscriptions that ask for nothing more are kept. `coming` is bound to walk."""
    if not asks_more.any():
        return found
    arrays, events, count = compiled.arrays, coming.events, len(compiled)
    entries = widest_block(events.starts, LANES)
    verifier = new_verifier(len(arrays.leaf_kinds), len(compiled.attributes), entries)
    room = Room(np.zeros(count, np.uint64), np.empty(count + 1, np.uint64), np.empty(count + 1, np.int32))
    starts, numbers = found.starts, found.subscriptions
    walked = keep_verified(arrays, verifier, events, coming.bound, asks_more, starts, numbers, room)
    return found._replace(subscriptions=numbers[: starts[-1]], verified=int(walked))


def require_suitable(suits: NDArray[np.bool_], otherwise: str) -> None:
    """Raise `UnsuitableIndex` for the first expression that does not suit."""
    unsuitable = np.flatnonzero(~suits)
    if len(unsuitable):
        raise UnsuitableIndex(f"{otherwise}; index 'auto' takes it", int(unsuitable[0]))
