"""The delta: recent subscriptions on chains, with ids, texts, scores and payloads, until they become a segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.growing import Growing
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.engine.blocks import SMALLEST, Blocks, spans_below
from tocsin.engine.sources import Source
from tocsin.index import Found, Part, Plan, Question, Recent, RecentMatcher, Structure
from tocsin.index.alive import everyone, living
from tocsin.index.boolean.chains.chains import ChainedExpressions, ChainedView
from tocsin.index.gates import Gate
from tocsin.index.once import OnceEach
from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import size_of
from tocsin.records import Parsed
from tocsin.segment import Segment, Snapshot, merged
from tocsin.segment.ids import Ids, find_id
from tocsin.segment.scores import Version
from tocsin.segment.segment import records_table

_FEWEST: Final = 512
"""A delta with fewer subscriptions is not merged early."""

# Costs, in units of examining one candidate:
_TEST: Final = 2  # testing a predicate on a chain against a block of events
_MERGE: Final = 256  # moving a subscription into a segment, and later into larger ones


class Delta(Source):
    """Subscriptions that are not in a segment yet, in the order of arrival. One writer; any thread may match.

    Chains by attribute index rectangles, regions and patterns poorly, so an event examines most of those. The delta
    counts this cost, and is ripe for merging once the cost exceeds that of a merge. A delta that is rarely matched is
    therefore not merged early.

    `recent` is a structure that changes in place, if the index has one. It finds the matches; chains then match only
    events with ranges or shapes.
    """

    def __init__(self, book: RecipeBook, wanted: Wanted, recent: Recent | None = None) -> None:
        super().__init__(everyone(0))
        self.is_ripe = False  # examining its subscriptions has cost more than merging them will
        self._spent = 0  # in candidates; concurrent threads may lose some of it
        self.ids: list[SubscriptionId] = []
        self.sources: list[str] = []
        self.payloads: list[str | None] = []
        self.weights: list[str | None] = []
        self.blocks: OnceEach[Blocks] = OnceEach()
        self.kept: OnceEach[Any] = OnceEach()
        self._scores: Growing[np.float64] = Growing(np.float64)
        self._has_shared_scores = False  # a snapshot may hold them
        self._numbers: dict[SubscriptionId, int] = {}
        self._chains = ChainedExpressions(book, wanted)
        self._recent = recent
        self._matched: list[Version] = []  # of snapshots that may be in use, and that `recent` matches

    @property
    def numbered(self) -> int:
        return len(self.ids)

    def add(self, parsed: Parsed) -> None:
        """Add a subscription. After an error, `cut` undoes it."""
        number = self.numbered
        self._make_room(number)
        self._scores.append(parsed.score)
        self._chains.add(parsed.where)
        self.ids.append(parsed.id)
        self.sources.append(parsed.source)
        self.payloads.append(parsed.payload)
        self.weights.append(parsed.weights)
        self._numbers[parsed.id] = number

    def cut(self, count: int, name: SubscriptionId, number: int | None) -> None:
        """Undo an addition: keep the first `count` subscriptions, the last of which with an id has a number."""
        self._scores.cut(count)
        self._chains.cut(count)
        for items in (self.ids, self.sources, self.payloads, self.weights):
            del items[count:]
        if number is None:
            self._numbers.pop(name, None)
        else:
            self._numbers[name] = number

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes in its subscriptions."""
        return self._chains.attributes

    def want(self, wanted: Wanted) -> None:
        """Register the attributes of the subscriptions, now and from now on, in another `Wanted`."""
        self._chains.want(wanted)

    def spend(self, candidates: int, tested: int = 0) -> None:
        """Count examined candidates, and predicates tested against blocks of events."""
        self._spent += candidates + _TEST * tested
        self.is_ripe = self.numbered >= _FEWEST and self._spent >= _MERGE * self.numbered

    def snapshot(self) -> DeltaSnapshot:
        self._has_shared_scores = True
        version = Version(self._scores.view())
        view = self._chains.frozen()
        recent = self._matching(view)
        if recent is not None:
            self._matched.append(version)
        return DeltaSnapshot(
            self._shared_bits(), version, len(self), None, self, len(view), view.expressions, view, recent
        )

    def _matching(self, view: ChainedView) -> RecentMatcher | None:
        """The structure that changes in place, with all changes up to now."""
        if self._recent is None:
            return None
        self._matched = [version for version in self._matched if version.users]
        return self._recent.matching(view.expressions(), self._chains.pools, self.alive, is_read=bool(self._matched))

    def snapshot_to_merge(self) -> DeltaSnapshot:
        self._has_shared_scores = True
        count, version, later = self.numbered, Version(self._scores.view()), self._chains.compiled_later()
        return DeltaSnapshot(self._shared_bits(), version, len(self), None, self, count, later)

    def keep_up(self) -> None:
        """Compile recent subscriptions, so that the next snapshot need not."""
        self._chains.keep_up()

    def last_with(self, name: SubscriptionId) -> int | None:
        return self._numbers.get(name)

    def score_of(self, number: int) -> float:
        return float(self._scores.get(number))

    def put_score(self, number: int, score: float) -> None:
        if self._has_shared_scores:
            self._scores, self._has_shared_scores = self._scores.copy(), False
        self._scores.put(number, score)

    def text(self, number: int) -> str:
        return self.sources[number]

    def payload(self, number: int) -> str | None:
        return self.payloads[number]

    def weights_of(self, number: int) -> str | None:
        return self.weights[number]

    def place(self, number: int) -> str:
        return "in the latest changes, looked for under the attributes of its rarest conditions"

    def _find(self, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        numbers, is_known = np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
        for number in living(self.alive, self.numbered).tolist():
            place = find_id(ids, self.ids[number])
            if place is not None:
                numbers[place], is_known[place] = number, True
        return numbers, is_known


@dataclass(frozen=True, slots=True)
class DeltaSnapshot(Snapshot):
    """A delta's subscriptions at one moment, numbered in the order of arrival. Later ones are not included."""

    delta: Delta
    numbered: int
    expressions: Callable[[], CompiledExpressions]
    chains: ChainedView | None = None  # None for a merge, which needs none
    recent: RecentMatcher | None = None  # finds the matches of events without ranges and shapes

    def __len__(self) -> int:
        return self.numbered

    def match(self, batch: EventBatch, k: int | None = None) -> Found:
        """All matches, whatever `k` is: a delta is too small to search for the best only."""
        assert self.alive is not None and self.chains is not None
        if self.recent is not None and not batch.with_extents().any():
            matches = self.recent.match(batch, self.chains.bind(batch), self.alive)
            self.delta.spend(matches.candidates_examined)
            return matches
        found, tested = self.chains.walk(batch, self.alive)
        self.delta.spend(found.candidates_examined, tested)
        return found

    def structures(self, question: Question) -> Sequence[Structure]:
        blocks = self.delta.blocks.get(question, lambda: Blocks(question, self.delta.spend))
        return blocks.of(len(self), self.part)

    def part(self) -> Part:
        ids, sources, *others = self._columns()
        return Part(ids, self.expressions(), sources, *others)

    def compiled(self) -> CompiledExpressions:
        return self.expressions()

    def spans(self) -> list[tuple[int, int]]:
        return spans_below(len(self))

    def part_of(self, span: tuple[int, int]) -> Part:
        return self.part().only(np.arange(*span))

    def kept(self, key: Any, span: tuple[int, int], make: Callable[[], Any]) -> Any:
        is_last = span[1] - span[0] < SMALLEST  # the last block still grows
        return make() if is_last else self.delta.kept.get((key, span), make)

    def gate(self, attribute: str) -> Gate:
        return Gate(attribute, self.expressions().attributes)

    def records(self) -> pa.Table:
        return records_table(*self._columns())

    def _columns(self) -> tuple[Any, ...]:
        """Ids, sources, scores, payloads and weights."""
        count, delta = len(self), self.delta
        texts = [pa.array(held[:count], pa.large_string()) for held in (delta.sources, delta.payloads, delta.weights)]
        return self.all_ids(), texts[0], self.version.scores[:count], *texts[1:]

    def text(self, number: int) -> str:
        return self.delta.text(number)

    def all_ids(self) -> pa.Array:
        return self.ids_of(np.arange(len(self)))

    def ids_of(self, numbers: NDArray[Any]) -> pa.Array:
        ids = self.delta.ids
        kind = pa.int64() if ids and isinstance(ids[0], int) else pa.large_string()
        return pa.array(self.names_of(numbers), kind)

    def payloads(self) -> pa.Array | None:
        return pa.array(self.delta.payloads[: len(self)], pa.large_string())

    def payload_bytes(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        payloads = self.delta.payloads
        return np.array([size_of(payloads[number] or "") for number in numbers.tolist()], np.int64)

    def source_bytes(self) -> int:
        return size_of(*self.delta.sources[: len(self)])

    def names_of(self, numbers: NDArray[np.int64]) -> list[SubscriptionId]:
        ids = self.delta.ids
        return [ids[number] for number in numbers.tolist()]

    def as_segment(self, plan: Plan) -> Segment:
        """A segment of the live subscriptions."""
        return merged([self], plan)[0]
