"""What was subscribed lately? Expressions on chains, with ids, texts, scores and payloads, until they are a segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.batch import Wanted
from tocsin.columns.growing import Growing
from tocsin.columns.instances import RecipeBook
from tocsin.columns.joining import joined
from tocsin.index import Plan, find_index
from tocsin.index.boolean.chains import ChainedExpressions, ChainedView
from tocsin.model.subscription import SubscriptionId
from tocsin.records import Parsed
from tocsin.segment import Segment


class Delta:
    """The subscriptions that no segment has yet, numbered as they came. One writer."""

    def __init__(self, book: RecipeBook, wanted: Wanted) -> None:
        self.ids: list[SubscriptionId] = []
        self.sources: list[str] = []
        self.payloads: list[str | None] = []
        self._scores: Growing[np.float64] = Growing(np.float64)
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
        return self._scores.view()

    def put_score(self, number: int, score: float) -> None:
        self._scores.put(number, score)

    def id_of(self, number: int) -> SubscriptionId:
        return self.ids[number]

    def ids_of(self, numbers: NDArray[np.int64]) -> pa.Array:
        """The ids of some subscriptions."""
        kind = pa.int64() if isinstance(self.ids[0], int) else pa.large_string()
        return pa.array([self.ids[number] for number in numbers.tolist()], kind)

    def segment(self, plan: Plan, view: ChainedView, numbers: NDArray[np.int64]) -> tuple[Segment, NDArray[np.int64]]:
        """A segment of some of a view's subscriptions, and which of them each of its subscriptions was."""
        order = np.array(sorted(numbers.tolist(), key=self.ids.__getitem__), np.int64)
        compiled = joined([view.expressions()], order)
        places: Sequence[int] = order.tolist()
        payloads = [self.payloads[place] or "" for place in places]
        segment = Segment(
            _ids([self.ids[place] for place in places]),
            frozen(self.scores[order], np.float64),
            Texts.of([self.sources[place] for place in places]),
            plan,
            find_index(plan.index).builder().build(compiled, plan.statistics),
            Texts.of(payloads) if any(payloads) else None,
        )
        return segment, order


def _ids(ids: list[SubscriptionId]) -> Texts | NDArray[np.int64]:
    if ids and isinstance(ids[0], int):
        return frozen(np.array(ids, np.int64), np.int64)
    return Texts.of([str(name) for name in ids])
