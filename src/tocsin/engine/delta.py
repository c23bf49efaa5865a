"""What was subscribed lately? Expressions on chains, with ids, texts, scores and payloads, until they are a segment."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.batch import Wanted
from tocsin.columns.growing import Growing
from tocsin.columns.instances import RecipeBook
from tocsin.index.boolean.chains import ChainedExpressions, ChainedView
from tocsin.model.subscription import SubscriptionId
from tocsin.records import Parsed
from tocsin.segment import Part


class Delta:
    """The subscriptions that no segment has yet, numbered as they came. One writer."""

    def __init__(self, book: RecipeBook, wanted: Wanted) -> None:
        self.ids: list[SubscriptionId] = []
        self.sources: list[str] = []
        self.payloads: list[str | None] = []
        self._scores: Growing[np.float64] = Growing(np.float64)
        self._is_shared = False  # a root may have the scores
        self._numbers: dict[SubscriptionId, int] = {}
        self._chains = ChainedExpressions(book, wanted)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, parsed: Parsed) -> int:
        """Take a subscription; returns its number."""
        number = self._chains.add(parsed.where)
        self.ids.append(parsed.id)
        self.sources.append(parsed.source)
        self.payloads.append(parsed.payload)
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

    def part(self, view: ChainedView) -> Part:
        """A view's subscriptions in columns, as they came."""
        count = len(view)
        return Part(
            self.ids_of(np.arange(count)),
            view.expressions(),
            pa.array(self.sources[:count], pa.large_string()),
            self.scores[:count],
            pa.array(self.payloads[:count], pa.large_string()),
        )
