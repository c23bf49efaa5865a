"""Where are an engine's subscriptions? In sources: each a segment or a delta, with what has gone from it since.

Numbers and ids of a source never change; which of its subscriptions are alive does, and their scores. A reader holds a
`Root`: the sources as they were at one moment. Bits of the living are copied before they change if a root has them;
scores have versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import inverse
from tocsin.columns.events.batch import EventBatch
from tocsin.engine.delta import Delta
from tocsin.engine.scores import Scores, Version
from tocsin.index import Best, Found
from tocsin.index.alive import everyone, living
from tocsin.index.boolean.chains.chains import ChainedView
from tocsin.index.relaxed.index import ScoredMatches
from tocsin.model.ranking import Relaxed
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import Part, Segment


class Source:
    """A segment or a delta and what has changed in it. Its owner serialises changes."""

    def __init__(self, holder: Segment | Delta) -> None:
        self.holder = holder
        saved = holder.alive if isinstance(holder, Segment) else None
        self.alive = everyone(len(holder)) if saved is None else saved
        self.dead = 0 if saved is None else len(holder) - len(living(saved, len(holder)))
        self.is_shared = saved is not None
        self.arrow_ids: pa.Array = holder.arrow_ids() if isinstance(holder, Segment) else None
        if isinstance(holder, Segment):
            self._scores = Scores(holder.scores)

    def __len__(self) -> int:
        """How many are alive."""
        return len(self.holder) - self.dead

    def number_of(self, name: SubscriptionId) -> int | None:
        """The number of the living subscription with an id."""
        number = self.holder.number_of(name)
        return number if number is not None and self.is_alive(number) else None

    def is_alive(self, number: int) -> bool:
        return bool(int(self.alive[number >> 6]) >> (number & 63) & 1)

    def bury(self, number: int) -> None:
        """Take a subscription out."""
        if self.is_shared:
            self.alive = self.alive.copy()
            self.is_shared = False
        self.alive[number >> 6] &= ~(np.uint64(1) << np.uint64(number & 63))
        self.dead += 1

    def make_room(self, number: int) -> None:
        """Have a bit for a subscription that was added; new bits are set."""
        if number >> 6 >= len(self.alive):
            self.alive = np.concatenate([self.alive, np.full_like(self.alive, ~np.uint64(0))])
            self.is_shared = False

    def place(self, number: int) -> str:
        """Where a subscription lies, in words for the user."""
        if isinstance(self.holder, Delta):
            return "among the latest changes, by the attributes of its rarest conditions"
        return self.holder.place(number)

    def score_of(self, number: int) -> float:
        return self.holder.score_of(number) if isinstance(self.holder, Delta) else self._scores.get(number)

    def put_score(self, number: int, score: float) -> None:
        if isinstance(self.holder, Delta):
            self.holder.put_score(number, score)
        else:
            self._scores.put(number, score)

    def version(self) -> Version:
        """The scores now."""
        if isinstance(self.holder, Delta):
            return Version(self.holder.scores, _NO_MAXIMA)
        return self._scores.version()

    def living(self) -> NDArray[np.int64]:
        """The numbers of the living."""
        return living(self.alive, len(self.holder))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A source at one moment, as readers hold it."""

    source: Source
    view: ChainedView | None  # of a delta
    alive: NDArray[np.uint64] | None  # None where nobody has gone
    version: Version  # the scores
    count: int  # how many are alive

    def __len__(self) -> int:
        """How many subscriptions it numbers, those that are gone included."""
        return len(self.source.holder) if self.view is None else len(self.view)

    def living(self) -> NDArray[np.int64]:
        """The numbers of the living."""
        return living(self.alive, len(self))

    def part(self) -> Part:
        """Its subscriptions in columns, those that are gone included."""
        holder = self.source.holder
        if isinstance(holder, Delta):
            assert self.view is not None
            return holder.part(self.view)
        payloads = None if holder.payloads is None else holder.payloads.arrow()
        ids, compiled = self.source.arrow_ids, holder.matcher.expressions()
        weights = None if holder.weights is None else holder.weights.arrow()
        return Part(ids, compiled, holder.sources.arrow(), self.version.scores, payloads, weights)

    def match(self, batch: EventBatch, k: int | None = None) -> Found:
        """The matches by number; a delta's are in the order of subscription, a segment's in that of the ids.

        With `k` any that is not one of its event's k best may be left out.
        """
        if self.view is not None:
            assert self.alive is not None
            return self.view.match(batch, self.alive)
        assert isinstance(self.source.holder, Segment)
        version = self.version
        best = None
        if k is not None:
            since = version.base, version.changed, version.raised
            best = Best.of(k, version.scores, version.maxima, *since)
        return self.source.holder.match(batch, self.alive, best)

    def relaxed(self, batch: EventBatch, ranking: Relaxed) -> list[ScoredMatches]:
        """The best of each of its parts."""
        holder = self.source.holder
        if isinstance(holder, Segment):
            return [holder.relaxed().match(batch, ranking, self.alive)]
        assert self.view is not None and self.alive is not None
        return [block.match(batch, ranking, self.alive) for block in holder.relaxed(self.view)]

    def ids_of(self, numbers: NDArray[np.int64]) -> pa.Array:
        holder = self.source.holder
        if isinstance(holder, Delta):
            return holder.ids_of(numbers)
        return self.source.arrow_ids.take(pa.array(numbers))


@dataclass(frozen=True, slots=True)
class Root:
    """All sources at one moment. `ranks` are the segments' subscriptions' places among the ids of all segments."""

    moment: int
    kind: type | None  # of the ids: str, int, or None where there are none yet
    snapshots: tuple[Snapshot, ...]
    ranks: tuple[NDArray[np.int32] | None, ...] = field(repr=False)

    def scores_of(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores of matches (source << 32 | number)."""
        scores = np.empty(len(places))
        for snapshot, at, numbers in self._by_source(places):
            scores[at] = snapshot.version.scores[numbers]
        return scores

    def ids_of(self, places: NDArray[np.int64]) -> pa.Array:
        """The ids of matches, of which there is at least one."""
        chosen = self._by_source(places)
        ids = [snapshot.ids_of(numbers) for snapshot, _, numbers in chosen]
        if len(ids) == 1:
            return ids[0]
        return pa.concat_arrays(ids).take(pa.array(inverse(np.concatenate([at for _, at, _ in chosen]))))

    def _by_source(self, places: NDArray[np.int64]) -> list[tuple[Snapshot, Any, NDArray[np.int64]]]:
        """The sources of matches: each with where its matches are among them, and their numbers."""
        which, numbers = places >> 32, places & 0xFFFFFFFF
        if len(places) and (which == which[0]).all():
            return [(self.snapshots[which[0]], slice(None), numbers)]
        given = [(place, np.flatnonzero(which == place)) for place in np.flatnonzero(np.bincount(which)).tolist()]
        return [(self.snapshots[place], at, numbers[at]) for place, at in given]

    def hold(self, users: int) -> None:
        """So many more users of its versions of the scores; -1 for one less."""
        for one in self.snapshots:
            one.version.users += users


_NO_MAXIMA = np.empty(0)


def snapshot(source: Source) -> Snapshot:
    """Freeze a source; its bits are copied before they next change, and its scores stay while a user holds them."""
    source.is_shared = True
    if isinstance(source.holder, Delta):
        return Snapshot(source, source.holder.view(), source.alive, source.version(), len(source))
    return Snapshot(source, None, source.alive if source.dead else None, source.version(), len(source))
