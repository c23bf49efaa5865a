"""Index structures over blocks of a delta's subscriptions, each built once.

Subscriptions of a delta never change, so a full block is kept. n subscriptions take log n blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.forking import renewed
from tocsin.index import Found, Part, Plan, Question, Structure, build_structure
from tocsin.index.alive import Alive, are_alive, bitmap

_PLAN: Final = Plan("scan", "few subscriptions are scanned one by one")

SMALLEST: Final = 64
"""Subscriptions in the smallest block that is kept."""


@dataclass(frozen=True, slots=True)
class Block:
    """A structure over some of a delta's subscriptions, in the order of their ids, which breaks ties."""

    numbers: NDArray[np.int64]  # numbers in the delta
    structure: Structure
    spend: Callable[[int], None]  # called with the number of examined candidates

    def match(self, batch: EventBatch, ranking: Any, alive: Alive = None) -> Found:
        """The matches, by numbers in the delta."""
        own = None if alive is None else bitmap(are_alive(alive, self.numbers))
        found = self.structure.match(batch, ranking, own)
        self.spend(found.candidates_examined)
        return found._replace(subscriptions=self.numbers[found.subscriptions])


class Blocks:
    """The blocks of a delta for one question. Thread-safe."""

    def __init__(self, question: Question, spend: Callable[[int], None]) -> None:
        self._question, self._spend = question, spend
        self._blocks: dict[tuple[int, int], Block] = {}
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def of(self, count: int, part: Callable[[], Part]) -> list[Block]:
        """The blocks of the first `count` subscriptions; `part` returns these as columns."""
        spans = spans_below(count)
        with self._lock:
            missing = [span for span in spans if span not in self._blocks]
            if missing:
                whole = part()
                made = {span: self._block(whole, *span) for span in missing}
                self._blocks = {span: self._blocks.get(span) or made[span] for span in spans}
            return [self._blocks[span] for span in spans]

    def _block(self, part: Part, first: int, stop: int) -> Block:
        numbers = first + pc.sort_indices(part.ids[first:stop]).to_numpy().astype(np.int64)
        return Block(numbers, build_structure(self._question, part.only(numbers), _PLAN), self._spend)


def spans_below(count: int) -> list[tuple[int, int]]:
    """Split the numbers below `count` into blocks of SMALLEST times a power of two, larger first, and a rest.

    >>> spans_below(200)
    [(0, 128), (128, 192), (192, 200)]
    """
    spans = []
    first = 0
    while count - first >= SMALLEST:
        size = SMALLEST << (((count - first) // SMALLEST).bit_length() - 1)
        spans.append((first, first + size))
        first += size
    return [*spans, (first, count)] if first < count else spans
