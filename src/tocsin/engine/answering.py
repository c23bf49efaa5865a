"""How does an engine answer at one moment? Its sources are matched, put in order of id, and given their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.engine.ordering import Located, in_order
from tocsin.engine.sources import Root
from tocsin.model.ranking import Ranking, Relaxed
from tocsin.model.subscription import Match, Reject
from tocsin.segment import Answered, Ranked, best_of_all, top


class Placed(NamedTuple):
    """Matches of a batch. M matches."""

    events: NDArray[np.int64]  # (M,) place in the batch
    places: NDArray[np.int64]  # (M,) source << 32 | number
    scores: NDArray[np.float64] | None  # (M,) when ranked
    candidates_examined: int
    verified: int


class Moment:
    """An engine's subscriptions at one moment, to match any number of batches against."""

    def __init__(self, root: Root, wanted: Wanted) -> None:
        self.wanted = wanted
        self._root = root

    def __len__(self) -> int:
        return sum(one.count for one in self._root.snapshots)

    @property
    def id_type(self) -> pa.DataType:
        return pa.int64() if self._root.kind is int else pa.large_string()

    def located(self, batch: EventBatch, k: int | None = None) -> tuple[Located, int, int]:
        """Where the matches of a batch are, by event, then id; candidates examined, and verified.

        With `k` any that is not one of its event's k best may be left out.
        """
        found = [one.match(batch, k) for one in self._root.snapshots]
        examined, verified = sum(one.candidates_examined for one in found), sum(one.verified for one in found)
        return in_order(self._root, found), examined, verified

    def find(self, batch: EventBatch, ranking: Ranking | None) -> Placed:
        """All matches of a batch, by event, then id, or the best of them, best first."""
        if isinstance(ranking, Relaxed):
            return self._relaxed(batch, ranking)
        located, examined, verified = self.located(batch, None if ranking is None else ranking.k)
        events, places = np.repeat(np.arange(len(batch)), np.diff(located.starts)), located.places
        if ranking is None:
            return Placed(events, places, None, examined, verified)
        scores = self.scores(places)
        best = top(Ranked(events, np.arange(len(places)), examined, verified), scores, ranking.k)
        return Placed(best.events, places[best.numbers], scores[best.numbers], examined, verified)

    def _relaxed(self, batch: EventBatch, ranking: Relaxed) -> Placed:
        """The best of all sources' best."""
        found = [
            (np.int64(place << 32), one)
            for place, snapshot in enumerate(self._root.snapshots)
            for one in snapshot.relaxed(batch, ranking)
        ]
        best = best_of_all(found, self._ranks_of, ranking.k)
        assert best.scores is not None
        return Placed(best.events, best.numbers, best.scores, best.candidates_examined, best.verified)

    def _ranks_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers that are in the order of the ids of matches."""
        ranks: NDArray[np.int64] = pc.rank(self.ids(places), tiebreaker="dense").to_numpy().astype(np.int64)
        return ranks

    def answer(self, batch: EventBatch, ranking: Ranking | None) -> Answered:
        """The same, with what they are to be reported as."""
        found = self.find(batch, ranking)
        return Answered(found.events, self.ids(found.places), found.scores, found.candidates_examined, found.verified)

    def scores(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores of matches, as they were at this moment."""
        return self._root.scores_of(places)

    def ids(self, places: NDArray[np.int64]) -> pa.Array:
        """The ids of matches."""
        return self._root.ids_of(places) if len(places) else pa.array([], self.id_type)


class Matches(Sequence[Match]):
    """The matches of one event, in order; ids are looked up when they are asked for.

    `errors` lists values of the event that could not be taken.
    """

    def __init__(
        self, moment: Moment, places: NDArray[np.int64], scores: NDArray[np.float64], errors: list[Reject]
    ) -> None:
        self._moment = moment
        self._places = places
        self._scores = scores
        self.errors = errors

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, place: int) -> Match: ...

    @overload
    def __getitem__(self, place: slice) -> list[Match]: ...

    def __getitem__(self, place: int | slice) -> Match | list[Match]:
        if isinstance(place, slice):
            return list(self)[place]
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} matches; there is no {place}")
        place %= len(self)
        return Match(self._moment.ids(self._places[place : place + 1])[0].as_py(), float(self._scores[place]))

    def __iter__(self) -> Iterator[Match]:
        return map(Match, self._moment.ids(self._places).to_pylist(), self._scores.tolist())

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))
