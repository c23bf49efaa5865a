"""What is a segment? An immutable set of subscriptions: ids in order, scores, source texts, compiled form, index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.compiled import compile_expressions
from tocsin.errors import InvalidInput
from tocsin.index import Matcher, Plan, find_index
from tocsin.model.subscription import Subscription, SubscriptionId

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

    def __len__(self) -> int:
        return len(self.scores)


def build_segment(subscriptions: Iterable[Subscription], plan: Plan) -> Segment:
    """Build a segment in memory. Ids must be distinct and all strings or all integers. Cost: O(n log n)."""
    ordered = sorted(subscriptions, key=_by_id)
    compiled = compile_expressions(s.where for s in ordered)
    return Segment(
        ids_of([s.id for s in ordered]),
        frozen(np.array([s.score for s in ordered], np.float64), np.float64),
        Texts.of([s.source for s in ordered]),
        plan,
        find_index(plan.index).builder().build(compiled, plan.statistics),
    )


def ids_of(ids: list[SubscriptionId]) -> Ids:
    """Ids as an array; raises `InvalidInput` when they mix strings and integers."""
    if all(isinstance(i, str) for i in ids):
        return Texts.of([str(i) for i in ids])
    if all(isinstance(i, int) for i in ids):
        return frozen(np.array(ids, np.int64), np.int64)
    raise InvalidInput("ids mix strings and integers; use one kind in one engine")


def _by_id(subscription: Subscription) -> tuple[bool, SubscriptionId]:
    return isinstance(subscription.id, str), subscription.id
