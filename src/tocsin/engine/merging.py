"""When and how do an engine's sources become fewer? In the background, by the logarithmic method.

A delta that is full becomes a segment. Segments of about one size (within a factor of four) become one when there are
four of them, and a segment that has lost a quarter is written anew; so every subscription is merged O(log n) times, and
a match asks O(log n) segments (Bentley and Saxe 1980).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.joining import joined
from tocsin.engine.delta import Delta
from tocsin.engine.sources import Snapshot, Source
from tocsin.engine.store import Store
from tocsin.index import Plan, find_index
from tocsin.segment import Segment, build_segment

_FANOUT: Final = 2
_DEAD_SHARE: Final = 0.25


class Merger:
    """Merges the sources of one store, in a thread of its own or in the caller's."""

    def __init__(self, store: Store, plan: Plan, delta_limit: int) -> None:
        self.error: Exception | None = None
        self._store = store
        self._plan = plan
        self._limit = delta_limit
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        """Whether a merge is going on in the background."""
        return self._thread is not None

    def wake(self) -> None:
        """Merge in the background until there is nothing to merge."""
        with self._guard:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="tocsin-merge", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Wait for a merge that is going on, and begin no more."""
        with self._guard:
            self._closed = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def merge_all(self) -> None:
        """Make everything one segment without the dead, here and now."""
        with self._store.structure:
            self._store.seal()
            chosen = [*self._store.segments, *self._store.sealed]
            if len(chosen) > 1 or any(source.dead or isinstance(source.holder, Delta) for source in chosen):
                self._merge(chosen)

    def _run(self) -> None:
        try:
            while not self._closed and self._step():
                pass
        except Exception as error:  # what is there goes on answering, and `stats` tells  # noqa: BLE001
            self.error = error
        finally:
            with self._guard:
                self._thread = None

    def _step(self) -> bool:
        """One merge, if there is one to do."""
        with self._store.structure:
            if len(self._store.delta.holder) >= self._limit:
                self._store.seal()
            chosen = self._next()
            if chosen:
                self._merge(chosen)
            return bool(chosen)

    def _next(self) -> list[Source]:
        """The sources to merge next: a full delta; else some of one size, the smallest first; else a thin one."""
        if self._store.sealed:
            return self._store.sealed[:1]
        tiers: dict[int, list[Source]] = {}
        for source in self._store.segments:
            tier = int(np.log(max(len(source) / self._limit, 1.0)) / np.log(_FANOUT))
            tiers.setdefault(tier, []).append(source)
        for tier in sorted(tiers):
            if len(tiers[tier]) >= _FANOUT:
                return tiers[tier]
        thin = [s for s in self._store.segments if s.dead > _DEAD_SHARE * len(s.holder)]
        return thin[:1]

    def _merge(self, chosen: list[Source]) -> None:
        snapshots = self._store.begin_merge(chosen)
        living = [one.living() for one in snapshots]
        parts = [as_segment(one, numbers, self._plan) for one, numbers in zip(snapshots, living, strict=True)]
        if len(parts) == 1 and isinstance(chosen[0].holder, Delta):
            segment, _, order, count = parts[0]
            origins = [_inverse(order, count)]
        else:
            segment, origins = merged(parts, self._plan)
        self._store.install(chosen, segment, origins)
        self.error = None


_Part = tuple[Segment, "NDArray[np.int64]", "NDArray[np.int64]", int]
"""A segment, the numbers in it that are wanted, what they were numbered in their source, and how many that has."""


def as_segment(one: Snapshot, living: NDArray[np.int64], plan: Plan) -> _Part:
    holder = one.source.holder
    if isinstance(holder, Segment):
        scored = Segment(holder.ids, one.scores, holder.sources, holder.plan, holder.matcher, holder.payloads)
        return scored, living, living, len(holder)
    assert one.view is not None
    segment, order = holder.segment(plan, one.view, living)
    return segment, np.arange(len(order)), order, len(holder)


def merged(parts: Sequence[_Part], plan: Plan) -> tuple[Segment, list[NDArray[np.int64]]]:
    """One segment of some subscriptions of several, and where those went. Cost: linear, and a sort of the ids."""
    origins = [np.full(count, -1, np.int64) for *_, count in parts]
    given = [place for place, (_, numbers, *_) in enumerate(parts) if len(numbers)]
    if not given:
        return build_segment([], plan), origins
    parts = [parts[place] for place in given]
    ids = pa.concat_arrays([_arrow_ids(segment).take(pa.array(numbers)) for segment, numbers, _, _ in parts])
    order = pc.sort_indices(ids).to_numpy().astype(np.int64)
    firsts = np.cumsum([0, *(len(segment) for segment, *_ in parts)])
    chosen = np.concatenate([first + numbers for first, (_, numbers, *_) in zip(firsts, parts, strict=False)])[order]
    compiled = joined([segment.matcher.expressions() for segment, *_ in parts], chosen)
    take = pa.array(order)
    in_order = ids.take(take)
    result = Segment(
        frozen(in_order.to_numpy(), np.int64) if pa.types.is_integer(ids.type) else Texts.of_arrow(in_order),
        frozen(np.concatenate([s.scores[numbers] for s, numbers, *_ in parts])[order], np.float64),
        _texts([(segment.sources, numbers) for segment, numbers, *_ in parts], take),
        plan,
        find_index(plan.index).builder().build(compiled, plan.statistics),
        _payloads(parts, take),
    )
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    first = 0
    for place, (_, numbers, were, _) in zip(given, parts, strict=True):
        origins[place][were] = places[first : first + len(numbers)]
        first += len(numbers)
    return result, origins


def _inverse(order: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    places = np.full(count, -1, np.int64)
    places[order] = np.arange(len(order))
    return places


def _arrow_ids(segment: Segment) -> pa.Array:
    return segment.ids.arrow() if isinstance(segment.ids, Texts) else pa.array(segment.ids)


def _texts(parts: Sequence[tuple[Texts, NDArray[np.int64]]], order: pa.Array) -> Texts:
    chosen = [texts.arrow().take(pa.array(numbers)) for texts, numbers in parts]
    return Texts.of_arrow(pa.concat_arrays(chosen).take(order))


def _payloads(parts: Sequence[_Part], order: pa.Array) -> Texts | None:
    if all(segment.payloads is None for segment, *_ in parts):
        return None
    none = Texts.of([""])
    return _texts(
        [
            (none, np.zeros(len(numbers), np.int64)) if segment.payloads is None else (segment.payloads, numbers)
            for segment, numbers, *_ in parts
        ],
        order,
    )
