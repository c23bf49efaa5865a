"""How do several segments answer as one? Their ids get one common order, and their matches are merged by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, inverse
from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.errors import SegmentError
from tocsin.index import Best
from tocsin.index.relaxed.index import ScoredMatches
from tocsin.kernels.answers.ordering import best_first
from tocsin.kernels.answers.scores import block_maxima
from tocsin.model.ranking import Ranking, Relaxed
from tocsin.segment.segment import Segment


@dataclass(frozen=True, slots=True)
class Ranked:
    """The matches of a batch: by event, then by id or, when ranked, by score descending and id. M matches."""

    events: NDArray[np.int64]  # (M,) place in the batch
    numbers: NDArray[np.int64]  # (M,) place in the set's common order of ids
    candidates_examined: int
    verified: int
    scores: NDArray[np.float64] | None = None  # (M,) of a relaxed ranking; else the subscriptions' own


@dataclass(frozen=True, slots=True)
class Answered:
    """The matches of a batch with what they are to be reported as, in the answer's order. M matches."""

    events: NDArray[np.int64]  # (M,) place in the batch
    ids: pa.Array  # (M,)
    scores: NDArray[np.float64] | None  # (M,) when ranked
    candidates_examined: int
    verified: int


class SegmentSet:
    """Segments with distinct ids. Immutable; many threads may match."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)
        self.ids = _common_ids(self.segments)
        order = pc.sort_indices(self.ids).to_numpy() if len(self.segments) > 1 else np.arange(len(self.ids))
        self._ranks = inverse(order)
        if len(self.segments) > 1:
            self.ids = self.ids.take(pa.array(order))
        scores = [s.scores for s in self.segments]
        self.scores: NDArray[np.float64] = np.concatenate(scores)[order] if scores else np.empty(0)
        self.wanted = Wanted(name for s in self.segments for name in s.matcher.attributes)

    def __len__(self) -> int:
        return sum(segment.living() for segment in self.segments)

    @cached_property
    def _maxima(self) -> list[NDArray[np.float64]]:
        return [frozen(block_maxima(segment.scores), np.float64) for segment in self.segments]

    @property
    def id_type(self) -> pa.DataType:
        """int64, or large_string."""
        return self.ids.type

    def answer(self, batch: EventBatch, ranking: Ranking | None = None) -> Answered:
        """All matches of a batch, or the best of them, by id."""
        found = self.match(batch, ranking)
        scores = None if ranking is None else self.scores_of(found)
        ids = self.ids.take(pa.array(found.numbers))
        return Answered(found.events, ids, scores, found.candidates_examined, found.verified)

    def scores_of(self, found: Ranked) -> NDArray[np.float64]:
        """The score of each match."""
        return self.scores[found.numbers] if found.scores is None else found.scores

    def match(self, batch: EventBatch, ranking: Ranking | None = None) -> Ranked:
        """All matches of a batch, or the best of them; exact."""
        if isinstance(ranking, Relaxed):
            return self._relaxed(batch, ranking)
        events: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        numbers: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        examined = verified = first = 0
        for place, segment in enumerate(self.segments):
            best = None if ranking is None else Best.of(ranking.k, segment.scores, self._maxima[place], segment.scores)
            found = segment.match(batch, segment.alive, best)
            events.append(found.events)
            numbers.append(self._ranks[first + found.subscriptions.astype(np.int64)])
            examined += found.candidates_examined
            verified += found.verified
            first += len(segment)
        ranked = Ranked(np.concatenate(events), np.concatenate(numbers), examined, verified)
        if len(self.segments) > 1:
            ranked = _ordered(ranked, len(self._ranks))
        return ranked if ranking is None else top(ranked, self.scores, ranking.k)

    def _relaxed(self, batch: EventBatch, ranking: Relaxed) -> Ranked:
        """The best of all segments' best."""
        found = [segment.relaxed().match(batch, ranking, segment.alive) for segment in self.segments]
        firsts = np.cumsum([0, *(len(segment) for segment in self.segments)])
        best = best_of_all(list(zip(firsts[:-1], found, strict=True)), self._ranks.__getitem__, ranking.k)
        return replace(best, numbers=self._ranks[best.numbers])


def _ordered(found: Ranked, count: int) -> Ranked:
    """Merge the runs of several segments: by event, then number."""
    order = np.argsort(found.events * count + found.numbers, kind="stable")
    return Ranked(found.events[order], found.numbers[order], found.candidates_examined, found.verified)


def best_of_all(
    found: Sequence[tuple[np.int64, ScoredMatches]],
    rank: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    k: int,
) -> Ranked:
    """The k best of each event among several parts' best: score descending, then by what `rank` says of a number.

    A part's numbers count from the one that it is given with.
    """
    events = np.concatenate([np.empty(0, np.int64), *(one.events for _, one in found)])
    numbers = np.concatenate([np.empty(0, np.int64), *(first + one.subscriptions for first, one in found)])
    scores = np.concatenate([np.empty(0), *(one.scores for _, one in found)])
    order = np.lexsort((rank(numbers), -scores, events))
    owners = events[order]
    order = order[np.arange(len(order)) - np.searchsorted(owners, owners) < k]
    examined = sum(one.candidates_examined for _, one in found)
    verified = sum(one.verified for _, one in found)
    return Ranked(events[order], numbers[order], examined, verified, scores[order])


def top(found: Ranked, scores: NDArray[np.float64], k: int) -> Ranked:
    """The k best of matches that are in order of event, then id: score descending, then id ascending."""
    order = best_first(found.events, scores[found.numbers], min(k, len(found.events)))
    return Ranked(found.events[order], found.numbers[order], found.candidates_examined, found.verified)


def _common_ids(segments: Sequence[Segment]) -> pa.Array:
    """All ids, segment after segment."""
    arrays = [s.arrow_ids() for s in segments if len(s)]
    if len({a.type for a in arrays}) > 1:
        raise SegmentError("segments of one index mix string and integer ids; compile the index again")
    return pa.concat_arrays(arrays) if arrays else pa.array([], pa.large_string())
