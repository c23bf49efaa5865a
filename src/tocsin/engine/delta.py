"""What was subscribed lately? Expressions on chains, with ids, texts, scores and payloads, until they are a segment."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.subsets import subset
from tocsin.index import Plan
from tocsin.index.alive import are_alive, bitmap
from tocsin.index.boolean.chains.chains import ChainedExpressions, ChainedView
from tocsin.index.relaxed.index import RelaxedIndex, ScoredMatches
from tocsin.model.ranking import Relaxed
from tocsin.model.subscription import SubscriptionId
from tocsin.records import Parsed
from tocsin.segment import Part, relaxed_index

_PLAN: Final = Plan("scan", "so few are looked at one by one")


@dataclass(frozen=True, slots=True)
class Block:
    """Some of a delta's subscriptions, in the order of their ids, so that ties are broken by them."""

    numbers: NDArray[np.int64]
    index: RelaxedIndex

    def match(self, batch: EventBatch, ranking: Relaxed, alive: NDArray[np.uint64]) -> ScoredMatches:
        """The best of those that are alive, by their numbers in the delta."""
        found = self.index.match(batch, ranking, bitmap(are_alive(alive, self.numbers)))
        return found._replace(subscriptions=self.numbers[found.subscriptions].astype(np.int32))


class Delta:
    """The subscriptions that no segment has yet, numbered as they came. One writer."""

    def __init__(self, book: RecipeBook, wanted: Wanted) -> None:
        self.ids: list[SubscriptionId] = []
        self.sources: list[str] = []
        self.payloads: list[str | None] = []
        self.weights: list[str | None] = []
        self._scores: Growing[np.float64] = Growing(np.float64)
        self._is_shared = False  # a root may have the scores
        self._numbers: dict[SubscriptionId, int] = {}
        self._lock = threading.Lock()
        self._blocks: dict[tuple[int, int], Block] = {}
        self._chains = ChainedExpressions(book, wanted)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, parsed: Parsed) -> int:
        """Take a subscription; returns its number."""
        number = self._chains.add(parsed.where)
        self.ids.append(parsed.id)
        self.sources.append(parsed.source)
        self.payloads.append(parsed.payload)
        self.weights.append(parsed.weights)
        self._scores.append(parsed.score)
        self._numbers[parsed.id] = number
        return number

    def number_of(self, name: SubscriptionId) -> int | None:
        """The latest subscription with an id, gone or not."""
        return self._numbers.get(name)

    def view(self) -> ChainedView:
        return self._chains.frozen()

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores now: they stay as they are."""
        self._is_shared = True
        return self._scores.view()

    def score_of(self, number: int) -> float:
        return float(self._scores.get(number))

    def put_score(self, number: int, score: float) -> None:
        if self._is_shared:
            self._scores = self._scores.copy()
            self._is_shared = False
        self._scores.put(number, score)

    def id_of(self, number: int) -> SubscriptionId:
        return self.ids[number]

    def ids_of(self, numbers: NDArray[np.int64]) -> pa.Array:
        """The ids of some subscriptions."""
        kind = pa.int64() if self.ids and isinstance(self.ids[0], int) else pa.large_string()
        return pa.array([self.ids[number] for number in numbers.tolist()], kind)

    def relaxed(self, view: ChainedView) -> list[Block]:
        """What answers relaxed rankings.

        What came stays as it is, so that a block that is full is made once; of n subscriptions there are log n blocks.
        """
        spans = _spans(len(view))
        with self._lock:
            missing = [span for span in spans if span not in self._blocks]
            if missing:
                part = self.part(view)
                made = {span: _block(part, *span) for span in missing}
                self._blocks = {span: self._blocks.get(span) or made[span] for span in spans}
            return [self._blocks[span] for span in spans]

    def part(self, view: ChainedView) -> Part:
        """A view's subscriptions in columns, as they came."""
        count = len(view)
        return Part(
            self.ids_of(np.arange(count)),
            view.expressions(),
            pa.array(self.sources[:count], pa.large_string()),
            self.scores[:count],
            pa.array(self.payloads[:count], pa.large_string()),
            pa.array(self.weights[:count], pa.large_string()),
        )


def _block(part: Part, first: int, stop: int) -> Block:
    numbers = first + pc.sort_indices(part.ids[first:stop]).to_numpy().astype(np.int64)
    chosen = pa.array(numbers)
    weights = None if part.weights is None else part.weights.take(chosen)
    compiled = subset(part.compiled, numbers.astype(np.int32))
    return Block(numbers, relaxed_index(compiled, part.sources.take(chosen), weights, _PLAN))


_BLOCK: Final = 64
"""Subscriptions of the smallest block that is kept."""


def _spans(count: int) -> list[tuple[int, int]]:
    """Numbers below `count` in blocks, each a power of two times _BLOCK, the larger ones first; the last may be short.

    >>> _spans(200)
    [(0, 128), (128, 192), (192, 200)]
    """
    spans = []
    first = 0
    while count - first >= _BLOCK:
        size = _BLOCK << (((count - first) // _BLOCK).bit_length() - 1)
        spans.append((first, first + size))
        first += size
    return [*spans, (first, count)] if first < count else spans
