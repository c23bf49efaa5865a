"""The k best matches by the ranker that was asked for by name: cursors of all dimensions, intersected.

Each dimension of a subscription is an interval with the subscription's score. Subscriptions with dimensions that are
not ranges are found by an access index of their own. If the cursors return too much for an event, or it has ranges, all
matches of that event are found, as without a ranker.

Scores that changed since the base are few: their subscriptions are left out by the cursors, and tested one by one.

Source: Machanavajjhala et al. 2008, section 1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, inverse, starts_of
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.joining import subset
from tocsin.forking import awaited
from tocsin.index.alive import Alive, are_alive, bitmap, everyone
from tocsin.index.boolean.access import Access
from tocsin.index.fields.kernels.code_sets import read_codes
from tocsin.index.found import Found, collect
from tocsin.index.protocols import Best, Matcher
from tocsin.index.question import Part
from tocsin.index.relaxed.kernels import layouts
from tocsin.index.relaxed.kernels.intersecting import LEFT, Ranked, Search, intersect_cursors
from tocsin.index.relaxed.question import dimensions_of
from tocsin.index.relaxed.rows import rows_of
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.ranker import Ranker, RankerBuilder

MOST_CHANGED: Final = 1024
"""With more changed scores than this, all matches are found until the scores have another base."""

MOST_AT_ONCE: Final = 1 << 16
"""For more of the best than this, all matches are found."""


@dataclass(frozen=True, slots=True)
class _Order:
    """The structure over some base scores, and the changes known so far."""

    base: NDArray[np.float64]
    ranker: Ranker
    ranked: Ranked
    known: int  # entries of `Best.changed` that `changed` includes
    changed: NDArray[np.int32]
    is_changed: NDArray[np.uint64]


class Intersection:
    """Finds the k best of a segment. It keeps the structure for the last base scores. Threads may share it."""

    def __init__(self, part: Part, ranker: RankerBuilder, *, most: int | None = None) -> None:
        self._rows, _ = rows_of(dimensions_of(part))
        fields, owners = self._rows.by_row()[:, layouts.FIELD], self._rows.owners()
        lengths = np.diff(self._rows.table.starts)
        ranges = np.bincount(owners[fields >= 0], minlength=len(part))
        never = np.bincount(owners[fields < -self._rows.generals], minlength=len(part)) > 0
        self._needed = np.where(ranges == lengths, ranges, 0).astype(np.int32)
        self._others = np.flatnonzero((self._needed == 0) & ~never).astype(np.int32)
        self._matcher = Access.build(subset(part.compiled, self._others)) if len(self._others) else None
        self._most = len(part) + 4096 if most is None else most
        self._builder = ranker
        self._binder = Binder(self._rows.compiled)
        count = len(self._rows.fields.kinds)
        self._kept, self._ranks = frozen(np.zeros(count), np.uint8), frozen(np.arange(count), np.int32)
        self._order: _Order | None = None
        self._lock = awaited(threading.Lock())

    def match(self, batch: EventBatch, alive: Alive, best: Best, whole: Matcher) -> Found:
        """Matches of each event with at least its k best among them. `whole` finds all matches of any event."""
        order = None if best.k > MOST_AT_ONCE else self._in_order(best)
        if order is None or len(order.changed) > MOST_CHANGED:
            return whole.match(batch, alive, best)
        found, left = self._intersected(batch, alive, best.k, order)
        parts = [(np.arange(len(batch)), found)]
        if self._matcher is not None:
            own = None if alive is None else bitmap(are_alive(alive, self._others))
            others = self._matcher.match(batch, own)
            parts.append((np.arange(len(batch)), others._replace(subscriptions=self._others[others.subscriptions])))
        if len(left):
            parts.append((left, whole.match(batch.only(left), alive, best)))
        return found if len(parts) == 1 else _united(parts, len(batch))

    def _intersected(self, batch: EventBatch, alive: Alive, k: int, order: _Order) -> tuple[Found, NDArray[np.int64]]:
        """What the cursors find, and the events that they leave."""
        fields = self._rows.fields
        events = read_codes(fields, batch.arrays, self._binder.bind(batch), self._kept, self._ranks)
        widest = int(np.diff(events.starts).max(initial=0))
        search = Search(
            events=events,
            k=min(k, max(len(self._needed), 1)),
            most=self._most,
            alive=frozen(everyone(len(self._needed)) if alive is None else alive, np.uint64),
            is_changed=order.is_changed,
            changed=order.changed,
            states=np.empty((widest, len(order.ranker.new_state())), np.int64),
            heads=np.empty(widest, np.int64),
            codes=np.full(len(fields.kinds), -1, np.int32),
            found=np.empty(len(batch), np.int64),
            examined=np.zeros(1, np.int64),
        )
        starts, numbers = collect(len(batch), _step(order, search))
        left = np.flatnonzero(search.found == LEFT)
        return Found(starts, numbers, int(search.examined[0]) + len(order.changed) * len(batch), 0), left

    def _in_order(self, best: Best) -> _Order | None:
        """The structure over the base scores with all changes that `best` knows; None if it has no base."""
        if best.base is None:
            return None
        with self._lock:
            order = self._order
            if order is None or order.base is not best.base:
                order = self._built(best.base)
            changed = np.empty(0, np.int32) if best.changed is None else best.changed
            if len(changed) > order.known:
                order = _with_changes(order, changed, self._needed)
            self._order = order
            return order

    def _built(self, base: NDArray[np.float64]) -> _Order:
        """The structure over some base scores. Cost: O(n log n)."""
        numbers = np.argsort(-base, kind="stable").astype(np.int32)
        plain, by_dimension = self._needed > 0, self._rows.intervals()
        owners = self._rows.owners()[by_dimension.owners]
        own = plain[owners]
        ranges = by_dimension.ranges
        groups = np.repeat(np.arange(len(ranges.last)), np.diff(ranges.starts))
        intervals = ScoredIntervals.of(
            groups[own].astype(np.int32),
            ranges.lows[own],
            ranges.highs[own],
            base[owners[own]],
            owners[own].astype(np.int32),
            ranges.last,
        )
        ranks = inverse(numbers)[intervals.owners]
        ranked = Ranked(
            frozen(ranks, np.int32),
            frozen(numbers, np.int32),
            frozen(self._needed[numbers], np.int32),
            self._rows.table,
        )
        nobody = frozen(np.zeros(len(self._needed) // 64 + 1), np.uint64)
        return _Order(base, self._builder.build(intervals), ranked, 0, frozen(np.empty(0), np.int32), nobody)


def _step(order: _Order, search: Search) -> Callable[[int, NDArray[np.int64], NDArray[np.int32]], tuple[int, int]]:
    """The step with which `collect` finds the best of all events."""
    structure: Any = order.ranker.structure
    return lambda first, ends, out: intersect_cursors(structure, order.ranked, search, first, ends, out)


def _with_changes(order: _Order, changed: NDArray[np.int32], needed: NDArray[np.int32]) -> _Order:
    """The order with the changes so far. Subscriptions that cursors do not find need no test."""
    mask = np.zeros(len(needed), bool)
    mask[changed] = True
    mask &= needed > 0
    numbers = frozen(np.flatnonzero(mask), np.int32)
    return replace(order, known=len(changed), changed=numbers, is_changed=frozen(bitmap(mask), np.uint64))


def _united(parts: list[tuple[NDArray[np.int64], Found]], events: int) -> Found:
    """The distinct matches of several answers, each to some events, by event, then number."""
    owners = np.concatenate([chosen[found.events] for chosen, found in parts])
    numbers = np.concatenate([found.subscriptions for _, found in parts]).astype(np.int64)
    keys = np.unique(owners << 32 | numbers)
    examined, verified = (
        sum(count) for count in zip(*((found.candidates_examined, found.verified) for _, found in parts), strict=True)
    )
    starts = starts_of(np.bincount(keys >> 32, minlength=events), events)
    return Found(starts, frozen(keys & 0xFFFFFFFF, np.int32), examined, verified)
