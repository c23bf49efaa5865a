"""Snapshots of several sources of subscriptions, matched as one and merged by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import inverse, starts_of
from tocsin.columns.crossing import with_crossing_shapes
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import InvalidInput, SegmentError
from tocsin.index import Found, Question, question_of
from tocsin.index.elements import with_conditions
from tocsin.index.gates import Gates
from tocsin.kernels import codes
from tocsin.language.operators.over_time import needs_monitor, over_time_of
from tocsin.model.ranking import Ranking
from tocsin.model.readings import reading_of
from tocsin.model.subscription import SubscriptionId
from tocsin.placement import Router
from tocsin.segment.ordering import ONE_ALONE, by_source, id_keys, in_order, places_of, ranks_of
from tocsin.segment.placed import Copies
from tocsin.segment.routed import Routing
from tocsin.segment.scores import Version
from tocsin.segment.segment import Ranks, Segment, SegmentSnapshot, Snapshot


def _with_places(source: Snapshot) -> set[str]:
    """The attributes that a source tests against a box."""
    compiled = source.part().compiled
    leaves = compiled.arrays
    numbers = np.unique(leaves.leaf_attributes[leaves.leaf_kinds == codes.INTERSECTS])
    return {compiled.attributes[number] for number in numbers.tolist()}


def _over_time(source: Snapshot) -> dict[str, None]:
    """The names of values over time that a source compares."""
    return {name: None for name in source.compiled().attributes if reading_of(name).is_over_time}


class Snapshots:
    """Subscriptions at one moment, to match any number of batches. Immutable and thread-safe."""

    def __init__(
        self, snapshots: Sequence[Snapshot], id_type: pa.DataType, wanted: Wanted, routing: Routing | None = None
    ) -> None:
        self.id_type = id_type  # int64 or large_string
        self.wanted = wanted
        self.kept: dict[Any, Any] = {}  # derived from these sources on first use; two threads may both make one
        self._snapshots = tuple(snapshots)
        self._routing = routing

    @classmethod
    def of(cls, segments: Sequence[Segment], wanted: Wanted | None = None) -> Snapshots:
        """Snapshots of segments with distinct ids that never change; `wanted` has at least their attributes."""
        kinds = {segment.arrow_ids().type for segment in segments if len(segment)}
        if len(kinds) > 1:
            raise SegmentError("segments of one index mix string and integer ids; compile the index again")
        ranks = ranks_of([segment.ids for segment in segments])
        snapshots = [snapshot_of(one, own) for one, own in zip(segments, ranks, strict=True)]
        if wanted is None:
            wanted = Wanted(name for segment in segments for name in segment.matcher.attributes)
        return cls(snapshots, kinds.pop() if kinds else pa.large_string(), wanted)

    def routed(self, router: Router, copies: Copies | None, alike: Sequence[float]) -> Snapshots:
        """The same sources, asked only about events routed to them; `copies` are of these sources.

        Questions for all sources go to the first copies. `alike` has `placement.most_alike` of each source.
        """
        if copies is None:
            return Snapshots(self._snapshots, self.id_type, self.wanted, Routing(router, self._snapshots, None, alike))
        ranks = [ONE_ALONE if one.ranks is None else one.ranks for one in self._snapshots]
        named = [snapshot_of(one, own) for one, own in zip(copies.segments, ranks, strict=True)]
        return Snapshots(named, self.id_type, self.wanted, Routing(router, self._snapshots, copies.firsts, alike))

    def __len__(self) -> int:
        """The number of live subscriptions."""
        return sum(one.count for one in self._snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self._snapshots)

    def find(self, batch: EventBatch, ranking: Ranking | None = None) -> Found:
        """All matches of a batch by event, then id; with a ranking the best ones, best first. Exact.

        Subscriptions are given as places, for `ids_of` and `scores_of`.
        """
        if self.wanted.over_time and not batch.remembers:
            self._refuse_over_time()
        question = question_of(ranking)
        whole = self._completed(batch, question)
        found = question.answer(self, whole, ranking)
        return found._replace(candidates_examined=found.candidates_examined + whole.examined)

    def completed(self, batch: EventBatch) -> EventBatch:
        """A batch with all derived values, but for those over time. `find_completed` takes it, or some of its events.

        Cost: nothing if none are asked for.
        """
        return replace(self._completed(batch), remembers=True)

    def find_completed(self, batch: EventBatch) -> Found:
        """All matches of a batch that has its derived values, by event, then id."""
        return question_of(None).answer(self, batch, None)

    def _completed(self, batch: EventBatch, question: Question | None = None) -> EventBatch:
        """The batch with derived values; a question may leave out those that cannot make a subscription hold."""
        if batch.has_crossing_boxes:
            batch = with_crossing_shapes(batch, self._with_places())
        if not batch.asks(self.wanted):
            return batch
        gates = None if question is None or question.counts_parts else self._gates()
        return with_conditions(batch, self.wanted, gates=gates)

    def over_time(self) -> list[str]:
        """The names of values over time in these subscriptions, each once, including removed subscriptions'."""
        names: dict[str, None] = {}
        for one in self._snapshots:
            names |= one.kept("over time", (0, len(one)), partial(_over_time, one))
        return list(names)

    def _refuse_over_time(self) -> None:
        for name in self.over_time():
            raise InvalidInput(needs_monitor(over_time_of(reading_of(name)).name))

    def _gates(self) -> Gates | None:
        """How conditions on places are found by other conditions; None if events are routed by their truth."""
        if self._routing is not None:
            return None
        gates: Gates = self.kept.get(Gates) or self.kept.setdefault(
            Gates, Gates(lambda name: [one.gate(name) for one in self._snapshots])
        )
        return gates

    def _with_places(self) -> set[str]:
        """The attributes with conditions on places."""
        found = set(self.wanted.places)
        for one in self._snapshots:
            span = 0, len(one)
            found |= one.kept("places", span, partial(_with_places, one))
        return found

    def matches(self, batch: EventBatch, k: int | None = None) -> Found:
        """All matches by event, then id. With `k`, matches outside an event's k best may be left out."""
        if self._routing is not None:
            return self._routing.matches(self._snapshots, batch, k)
        found = [one.match(batch, k) for one in self._snapshots]
        if len(found) == 1 and self._snapshots[0].ranks is not None:
            return found[0]  # its numbers are in the order of the ids
        nothing = np.zeros(len(batch) + 1, np.int64), np.empty(0, np.int64)
        starts, places = in_order(self._snapshots, found) if found else nothing
        return Found(starts, places, sum(one.candidates_examined for one in found), sum(one.verified for one in found))

    def answers(self, question: Question, batch: EventBatch, ranking: Any) -> Found:
        """The answers of all structures of a question, by event, then id."""
        routed = None if self._routing is None else self._routing.answers(self._snapshots, question, batch, ranking)
        if routed is not None:
            return routed
        found = [
            (source, structure.match(batch, ranking, one.alive))
            for source, one in enumerate(self._snapshots)
            for structure in one.structures(question)
        ]
        events = np.concatenate([np.empty(0, np.int64), *(one.events for _, one in found)])
        places = np.concatenate([np.empty(0, np.int64), *(places_of(at, one.subscriptions) for at, one in found)])
        scores = np.concatenate([np.empty(0), *(one.scores for _, one in found if one.scores is not None)])
        order = np.lexsort((id_keys(self._snapshots, places), events))
        examined, verified = sum(one.candidates_examined for _, one in found), sum(one.verified for _, one in found)
        starts = starts_of(np.bincount(events, minlength=len(batch)), len(batch))
        unanswered = sum(one.unanswered for _, one in found)
        return Found(starts, places[order], examined, verified, scores[order], unanswered)

    def scores_of(self, places: NDArray[Any]) -> NDArray[np.float64]:
        """The subscriptions' scores at this moment."""
        if len(self._snapshots) == 1:
            found: NDArray[np.float64] = self._snapshots[0].version.scores[places]
            return found
        scores = np.empty(len(places))
        for source, own, numbers in self._by_source(places):
            scores[own] = self._snapshots[source].version.scores[numbers]
        return scores

    @property
    def ids_column_type(self) -> pa.DataType:
        """The type of a column of ids: int64, or a dictionary of strings."""
        return self.id_type if pa.types.is_integer(self.id_type) else pa.dictionary(pa.int32(), self.id_type)

    def ids_column(self, places: NDArray[Any]) -> pa.Array:
        """The subscriptions' ids as a column. Strings from a single source become a dictionary over its ids.

        With several sources, few distinct strings are looked up one by one. For many, the sources' ids are
        concatenated.
        """
        if pa.types.is_integer(self.id_type):
            return self.ids_of(places)
        chosen = self._by_source(places)
        if not chosen:
            return _dictionary(places, pa.array([], self.id_type))
        if len(chosen) == 1:
            source, _, numbers = chosen[0]
            return _dictionary(numbers, self._snapshots[source].all_ids())
        if len(places) < sum(map(len, self._snapshots)) // _FEW:
            distinct, numbers = np.unique(places, return_inverse=True)
            return _dictionary(numbers, self.ids_of(distinct))
        firsts = np.cumsum([0, *map(len, self._snapshots)])
        numbers = np.empty(len(places), np.int32)
        for source, own, some in chosen:
            numbers[own] = firsts[source] + some
        return _dictionary(numbers, pa.concat_arrays([one.all_ids() for one in self._snapshots]))

    def ids_of(self, places: NDArray[Any]) -> pa.Array:
        """The subscriptions' ids."""
        chosen = self._by_source(places)
        ids = [self._snapshots[source].ids_of(numbers) for source, _, numbers in chosen]
        if len(ids) == 1:
            return ids[0]
        if not ids:
            return pa.array([], self.id_type)
        return pa.concat_arrays(ids).take(pa.array(inverse(np.concatenate([own for _, own, _ in chosen]))))

    def names_of(self, places: NDArray[Any]) -> list[SubscriptionId]:
        """The subscriptions' ids as Python objects. A delta has them as such."""
        chosen = self._by_source(places)
        if len(chosen) == 1:
            source, _, numbers = chosen[0]
            return self._snapshots[source].names_of(numbers)
        names: list[SubscriptionId] = self.ids_of(places).to_pylist()
        return names

    def payloads_of(self, places: NDArray[Any]) -> pa.Array:
        """The subscriptions' payloads as JSON texts; null if absent."""
        texts = pa.nulls(len(places), pa.large_string())
        for source, own, numbers in self._by_source(places):
            held = self._snapshots[source].payloads()
            if held is None:
                continue
            some = held.take(pa.array(numbers))
            absent = pc.equal(some, "")
            if pc.any(absent).as_py():
                some = pc.if_else(absent, None, some)
            if isinstance(own, slice):
                return some  # a single source
            where = np.zeros(len(places), bool)
            where[own] = True
            texts = pc.replace_with_mask(texts, pa.array(where), some)
        return texts

    def payload_bytes(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """The lengths of the payloads as UTF-8, which are known without reading them."""
        sizes = np.zeros(len(places), np.int64)
        for source, own, numbers in self._by_source(places):
            sizes[own] = self._snapshots[source].payload_bytes(numbers)
        return sizes

    def text_bytes(self) -> int:
        """The bytes of the conditions and payloads of live subscriptions. Cost: linear in them."""
        return sum(one.text_bytes() for one in self._snapshots)

    def texts_of(self, places: NDArray[Any]) -> list[str]:
        """The texts of the subscriptions' conditions."""
        texts = [""] * len(places)
        for source, own, numbers in self._by_source(places):
            taken = range(len(places)) if isinstance(own, slice) else own.tolist()
            for place, number in zip(taken, numbers.tolist(), strict=True):
                texts[place] = self._snapshots[source].text(number)
        return texts

    def payload_texts(self, places: NDArray[Any]) -> list[str | None]:
        """The same as a list, without Arrow's functions, which take 30 us a call; absent ones are null or empty."""
        texts: list[str | None] = [None] * len(places)
        for source, own, numbers in self._by_source(places):
            held = self._snapshots[source].payloads()
            if held is None:
                continue
            is_few = len(numbers) <= _ALONE
            some = (
                [held[one].as_py() for one in numbers.tolist()] if is_few else held.take(pa.array(numbers)).to_pylist()
            )
            if isinstance(own, slice):
                return some  # a single source
            for place, text in zip(own.tolist(), some, strict=True):
                texts[place] = text
        return texts

    def _by_source(self, places: NDArray[Any]) -> list[tuple[int, Any, NDArray[Any]]]:
        """The sources of some places: each with the places that are its own, and their numbers."""
        if len(self._snapshots) == 1:
            return [(0, slice(None), places)] if len(places) else []
        return by_source(places)

    def hold(self, users: int) -> None:
        """Add to the number of users of these score versions; -1 releases one."""
        for one in self._snapshots:
            one.version.users += users


def snapshot_of(segment: Segment, ranks: Ranks = ONE_ALONE) -> SegmentSnapshot:
    """A snapshot of a segment that nobody changes."""
    scores, count = Version.fixed(segment.scores), segment.living()
    return SegmentSnapshot(segment.alive, scores, count, ranks, segment, segment.arrow_ids())


_ALONE: Final = 16
"""So many values of a column are read faster one by one."""

_FEW: Final = 8
"""Sorting fewer places than this fraction of the ids is faster than copying the ids."""


def _dictionary(numbers: NDArray[Any], ids: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32, copy=False)), ids, safe=False)
