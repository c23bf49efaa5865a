"""How are parts asked only about events that they can match? By the keys beside them; what is found is merged as ever.

Rankings that look at subscriptions of which not all holds ask every part, about every event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Found
from tocsin.placement import Router
from tocsin.segment.ordering import id_keys, in_order
from tocsin.segment.segment import Snapshot


@dataclass(frozen=True, slots=True)
class Routing:
    """Which events each source is to be asked about, and which copies are one subscription."""

    router: Router
    sources: Sequence[Snapshot]  # with all copies alive
    firsts: Sequence[NDArray[np.int64]] | None  # (S,) a source, the place of the first copy; None: there are no copies

    def matches(self, named: Sequence[Snapshot], batch: EventBatch, k: int | None) -> Found:
        """All matches by event, then id, under the places of first copies, which `named` have alive."""
        visits = self.router.visits(batch)
        found = [_asked(one, batch, visits[:, number], k) for number, one in enumerate(self.sources)]
        examined, verified = sum(one.candidates_examined for one in found), sum(one.verified for one in found)
        if self.firsts is None:
            starts, places = in_order(named, found)
            return Found(starts, places, examined, verified)
        events = np.concatenate([one.events for one in found])
        pairs = zip(found, self.firsts, strict=True)
        places = np.concatenate([firsts[one.subscriptions] for one, firsts in pairs])
        order = np.lexsort((id_keys(named, places), events))
        events, places = events[order], places[order]
        once = np.ones(len(places), bool)
        once[1:] = (events[1:] != events[:-1]) | (places[1:] != places[:-1])
        starts = starts_of(np.bincount(events[once], minlength=len(batch)), len(batch))
        return Found(starts, places[once], examined, verified)


def _asked(source: Snapshot, batch: EventBatch, visited: NDArray[np.bool_], k: int | None) -> Found:
    """What a source finds of the events that visit it, by event of the whole batch."""
    if visited.all():
        return source.match(batch, k)
    events = np.flatnonzero(visited)
    if not len(events):
        return Found(np.zeros(len(batch) + 1, np.int64), np.empty(0, np.int32), 0, 0)
    found = source.match(batch.only(events), k)
    counts = np.zeros(len(batch), np.int64)
    counts[events] = np.diff(found.starts)
    return found._replace(starts=starts_of(counts, len(batch)))
