"""Routing of events to parts by their keys, and merging of the parts' matches.

Some rankings consider subscriptions that are only partly satisfied. They ask every part about every event, except parts
for which the question knows that any answer has a key (`index.question`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Found, Question
from tocsin.placement import Router
from tocsin.segment.ordering import id_keys, in_order, places_of
from tocsin.segment.segment import Snapshot


@dataclass(frozen=True, slots=True)
class Routing:
    """Which events go to each source, and which copies are one subscription."""

    router: Router
    sources: Sequence[Snapshot]  # with all copies live
    firsts: Sequence[NDArray[np.int64]] | None  # per source, (S,) the place of the first copy; None: no copies
    alike: Sequence[float]  # per source, `placement.most_alike`

    def matches(self, named: Sequence[Snapshot], batch: EventBatch, k: int | None) -> Found:
        """All matches by event, then id, under the places of first copies, which are live in `named`."""
        visits = self.router.visits(batch)
        found = [
            _asked(lambda some, source=one: source.match(some, k), batch, visits[:, number])  # type: ignore[misc]
            for number, one in enumerate(self.sources)
        ]
        if self.firsts is None:
            starts, places = in_order(named, found)
            return Found(starts, places, *_work(found))
        return self._once(named, batch, list(enumerate(found)))

    def answers(self, named: Sequence[Snapshot], question: Question, batch: EventBatch, ranking: Any) -> Found | None:
        """The answers of a question's structures, as from `matches`; None if every source receives all events.

        If one source receives only the events routed to it, all sources are asked with all their copies.
        """
        by_keys = np.array([question.needs_a_key(ranking, one) for one in self.alike])
        if not by_keys.any():
            return None
        visits = self.router.visits(batch) | ~by_keys
        nobody = batch.only(np.empty(0, np.int64))
        found, unanswered = list[tuple[int, Found]](), 0
        for number, (source, own) in enumerate(zip(self.sources, named, strict=True)):
            for structure in source.structures(question):
                ask = _asking(structure, ranking, source)
                found.append((number, _asked(ask, batch, visits[:, number])))
                unanswered += structure.match(nobody, ranking, own.alive).unanswered
        whole = self._once(named, batch, found)
        scores = np.empty(0) if whole.scores is None else whole.scores
        return whole._replace(scores=scores, unanswered=unanswered)

    def _once(self, named: Sequence[Snapshot], batch: EventBatch, found: Sequence[tuple[int, Found]]) -> Found:
        """The answers of all sources by event, then id, each subscription once."""
        events = np.concatenate([np.empty(0, np.int64), *(one.events for _, one in found)])
        places = np.concatenate([np.empty(0, np.int64), *(self._places(at, one.subscriptions) for at, one in found)])
        order = np.lexsort((id_keys(named, places), events))
        is_first = np.ones(len(order), bool)
        is_first[1:] = (np.diff(events[order]) != 0) | (np.diff(places[order]) != 0)
        kept = order[is_first]
        starts = starts_of(np.bincount(events[kept], minlength=len(batch)), len(batch))
        scores = [one.scores for _, one in found if one.scores is not None]
        whole = Found(starts, places[kept], *_work([one for _, one in found]))
        return whole._replace(scores=np.concatenate(scores)[kept]) if scores else whole

    def _places(self, source: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The places of the first copies of some of a source's subscriptions."""
        return places_of(source, numbers) if self.firsts is None else self.firsts[source][numbers]


def _asking(structure: Any, ranking: Any, source: Snapshot) -> Callable[[EventBatch], Found]:
    def ask(some: EventBatch) -> Found:
        found: Found = structure.match(some, ranking, source.alive)
        return found

    return ask


def _asked(ask: Callable[[EventBatch], Found], batch: EventBatch, visited: NDArray[np.bool_]) -> Found:
    """The answer of a source for the events routed to it, in terms of the whole batch."""
    if visited.all():
        return ask(batch)
    events = np.flatnonzero(visited)
    if not len(events):
        return Found(np.zeros(len(batch) + 1, np.int64), np.empty(0, np.int32), 0, 0)
    found = ask(batch.only(events))
    counts = np.zeros(len(batch), np.int64)
    counts[events] = np.diff(found.starts)
    return found._replace(starts=starts_of(counts, len(batch)))


def _work(found: Sequence[Found]) -> tuple[int, int]:
    """The numbers of examined and verified candidates."""
    return sum(one.candidates_examined for one in found), sum(one.verified for one in found)
