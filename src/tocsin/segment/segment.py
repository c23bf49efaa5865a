"""What is a segment? An immutable set of subscriptions: ids in order, scores, source texts, compiled form, index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Best, Found, Matcher, Plan
from tocsin.index.alive import living
from tocsin.index.boolean.chains.ranges import RangeMatching
from tocsin.index.once import Once
from tocsin.index.relaxed.index import RelaxedIndex
from tocsin.kernels.text.strings import locate
from tocsin.model.subscription import SubscriptionId
from tocsin.segment.relaxed import relaxed_index

Ids: TypeAlias = Texts | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Subscriptions numbered in the order of their ids, so that an order of numbers is an order of ids.

    The matcher holds their expressions.
    """

    ids: Ids
    scores: NDArray[np.float64]
    sources: Texts
    plan: Plan
    matcher: Matcher
    payloads: Texts | None = None  # JSON texts, empty for none
    weights: Texts | None = None  # JSON texts of objects, empty for none
    alive: NDArray[np.uint64] | None = None  # a bit each, low bits first, 0 for one that is gone; None: all are alive
    _relaxed: Once[RelaxedIndex] = field(default_factory=Once, compare=False, repr=False)
    _ranges: RangeMatching = field(default_factory=RangeMatching, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.scores)

    def match(self, batch: EventBatch, alive: NDArray[np.uint64] | None, best: Best | None = None) -> Found:
        """All matches of a batch among the subscriptions that are alive, as `Matcher.match`; events may have ranges."""
        return self._ranges.match(self.matcher, batch, alive, best)

    def relaxed(self) -> RelaxedIndex:
        """What answers relaxed rankings; made when it is first asked for."""
        weights = None if self.weights is None else self.weights.arrow()
        return self._relaxed.get(
            lambda: relaxed_index(self.matcher.expressions(), self.sources.arrow(), weights, self.plan)
        )

    def arrow_ids(self) -> pa.Array:
        """The ids as an Arrow array over the same memory."""
        return self.ids.arrow() if isinstance(self.ids, Texts) else pa.array(self.ids)

    def living(self) -> int:
        """How many subscriptions are alive."""
        return len(living(self.alive, len(self)))

    def id_of(self, number: int) -> SubscriptionId:
        """The id of a subscription."""
        return self.ids.text(number) if isinstance(self.ids, Texts) else int(self.ids[number])

    def place(self, number: int) -> str:
        """Where a subscription lies, and by which index, in words for the user."""
        return f"{self.matcher.place(number)} ({self.plan.index}: {self.plan.reason})"

    def number_of(self, name: SubscriptionId) -> int | None:
        """The number of the subscription with an id, None where there is none. Cost: logarithmic."""
        code = rank_code(self.ids, name)
        return code >> 1 if code & 1 else None


def rank_codes(ids: Ids, others: Ids) -> NDArray[np.int64]:
    """`rank_code` of each of the others."""
    if isinstance(ids, Texts) and isinstance(others, Texts):
        return ids.rank_codes(others).astype(np.int64)
    if isinstance(ids, Texts) or isinstance(others, Texts):
        return np.zeros(len(others), np.int64)
    places = np.searchsorted(ids, others).astype(np.int64)
    found = np.zeros(len(others), np.int64)
    inside = places < len(ids)
    found[inside] = ids[places[inside]] == others[inside]
    return 2 * places + found


def rank_code(ids: Ids, name: SubscriptionId) -> int:
    """An id's place among ids in order: 2 r + 1 where it is the r-th of them, 2 r where it lies just before that."""
    if isinstance(ids, Texts):
        if not isinstance(name, str):
            return 0
        text = np.frombuffer(name.encode(), np.uint8)
        code = np.empty(1, np.int32)
        locate(ids.starts, ids.data, np.array([0, len(text)]), text, code)
        return int(code[0])
    if not isinstance(name, int):
        return 0
    place = int(np.searchsorted(ids, name))
    return 2 * place + int(place < len(ids) and ids[place] == name)
