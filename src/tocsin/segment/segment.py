"""Segments in memory: immutable sets of subscriptions with sorted ids, scores, source texts, compiled form and index.

Readers hold a `Snapshot`: which subscriptions are live at a moment, and with which scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.compressed import CompressedTexts
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index import Best, Found, Matcher, Part, Plan, Question, Structure, build_structure, intersection
from tocsin.index.alive import Alive, living
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.gates import Gate
from tocsin.index.once import OnceEach
from tocsin.index.protocols import THE_BEST_FIRST, Arrays
from tocsin.language.strings import FOLDING
from tocsin.model.subscription import SubscriptionId
from tocsin.segment.ids import Ids, as_arrow, find_id, find_ids, id_of, ids_at
from tocsin.segment.scores import Version

Ranks: TypeAlias = NDArray[np.int32]
"""(S,) the rank of each id of a segment among all segments' ids; empty if the segment is the only one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Subscriptions numbered in the order of their ids, so that sorting numbers sorts ids.

    The matcher holds the compiled expressions.
    """

    ids: Ids
    scores: NDArray[np.float64]
    sources: Texts | CompressedTexts
    plan: Plan
    matcher: Matcher
    payloads: Texts | None = None  # JSON texts, empty if absent
    weights: Texts | None = None  # JSON texts of objects, empty if absent
    alive: NDArray[np.uint64] | None = None  # a bitmap, low bits first; None: all are live
    folding: str | None = field(default=FOLDING, compare=False)  # the rules that folded its texts; None: not recorded
    saved: Mapping[str, Arrays] = field(default_factory=dict, compare=False, repr=False)
    """Saved arrays of the structures for other questions, by the question's name."""
    _structures: OnceEach[Structure] = field(default_factory=OnceEach, compare=False, repr=False)
    kept: OnceEach[Any] = field(default_factory=OnceEach, compare=False, repr=False)
    """Data derived from the subscriptions on first use, by a key of the caller."""
    _extents: ExtentMatching = field(default_factory=ExtentMatching, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.scores)

    def match(self, batch: EventBatch, alive: NDArray[np.uint64] | None, best: Best | None = None) -> Found:
        """All matches of a batch among live subscriptions, as `Matcher.match`. Events may have ranges or shapes."""
        if batch.may_have_extents:
            return self._extents.match(self.matcher, batch, alive, best)
        if best is not None and self._ranker is not None:
            ranked = self.kept.get(intersection, lambda: intersection(self.part(), self.plan))
            found: Found = ranked.match(batch, alive, best, self.matcher)
            return found
        return self.matcher.match(batch, alive, best)

    @property
    def _ranker(self) -> str | None:
        """The ranker that the plan names; None if the matcher finds the best."""
        return self.plan.others[THE_BEST_FIRST].asked if THE_BEST_FIRST in self.plan.others else None

    def best_first(self) -> str:
        """How it finds the k best matches, and why, in words for the user."""
        if self._ranker is None:
            return self.matcher.best_first()
        return f"cursors of {self._ranker} for each attribute, by descending score, intersected"

    def structure(self, question: Question) -> Structure:
        """The structure for a question other than all matches, built on first use."""
        saved = self.saved.get(question.name)
        structure: Structure = self._structures.get(
            question, lambda: build_structure(question, self.part(), self.plan, saved)
        )
        return structure

    def to_save(self, question: Question) -> Arrays:
        """The arrays to save for a question other than all matches.

        They come from the structure if it was built, or if the plan names it. Otherwise the earlier saved ones are
        kept.
        """
        structure = self._structures.made(question)
        if structure is None and question.name in self.plan.others and not self.saved.get(question.name):
            structure = self.structure(question)
        return self.saved.get(question.name, {}) if structure is None else question.arrays(structure)

    def part(self) -> Part:
        """The subscriptions in columns, including removed ones."""
        payloads = None if self.payloads is None else self.payloads.arrow()
        weights = None if self.weights is None else self.weights.arrow()
        expressions = self.matcher.expressions()
        return Part(self.arrow_ids(), expressions, self.sources.arrow(), self.scores, payloads, weights)

    def arrow_ids(self) -> pa.Array:
        """The ids as an Arrow array over the same memory."""
        return as_arrow(self.ids)

    def living(self) -> int:
        """The number of live subscriptions."""
        return len(living(self.alive, len(self)))

    def id_of(self, number: int) -> SubscriptionId:
        """The id of a subscription."""
        return id_of(self.ids, number)

    def place(self, number: int) -> str:
        """Where a subscription is stored, and in which index, in words for the user."""
        return f"{self.matcher.place(number)} ({self.plan.index}: {self.plan.reason})"

    def number_of(self, name: SubscriptionId) -> int | None:
        """The number of the subscription with an id, or None. Cost: logarithmic."""
        return find_id(self.ids, name)


@dataclass(frozen=True, slots=True)
class Snapshot(ABC):
    """A source at one moment: a segment or a delta. Removed subscriptions have numbers, too."""

    alive: Alive
    version: Version  # the scores
    count: int  # number of live subscriptions
    ranks: Ranks | None  # None if numbers are not in the order of the ids

    @abstractmethod
    def __len__(self) -> int:
        """The number of subscriptions, including removed ones."""

    @abstractmethod
    def match(self, batch: EventBatch, k: int | None = None) -> Found:
        """All matches by number. With `k`, matches outside an event's k best may be left out."""

    @abstractmethod
    def structures(self, question: Question) -> Sequence[Structure]:
        """The structures for a question, each over some of the subscriptions; built on first use."""

    @abstractmethod
    def part(self) -> Part:
        """The subscriptions in columns, including removed ones."""

    def spans(self) -> list[tuple[int, int]]:
        """Ranges of numbers (first, stop). Within a range nothing changes, except which subscriptions are live."""
        return [(0, len(self))]

    @abstractmethod
    def compiled(self) -> CompiledExpressions:
        """The compiled conditions, including those of removed subscriptions."""

    @abstractmethod
    def part_of(self, span: tuple[int, int]) -> Part:
        """The subscriptions of one of the `spans`, in columns."""

    @abstractmethod
    def kept(self, key: Any, span: tuple[int, int], make: Callable[[], Any]) -> Any:
        """Data derived from the subscriptions of a span, made once per key and kept as long as they are."""

    @abstractmethod
    def gate(self, attribute: str) -> Gate:
        """The conditions on the places of an attribute, by the other conditions of their subscriptions."""

    @abstractmethod
    def records(self) -> pa.Table:
        """The subscriptions as given, in the form of `records_table`, including removed ones."""

    @abstractmethod
    def text(self, number: int) -> str:
        """The text of a subscription's condition."""

    @abstractmethod
    def all_ids(self) -> pa.Array:
        """The ids by number, including removed ones."""

    @abstractmethod
    def ids_of(self, numbers: NDArray[Any]) -> pa.Array:
        """The ids of some subscriptions."""

    @abstractmethod
    def payloads(self) -> pa.Array | None:
        """The payloads by number as JSON texts, null or empty if absent; None if all are absent."""

    @abstractmethod
    def payload_bytes(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The lengths of some payloads as UTF-8."""

    @abstractmethod
    def source_bytes(self) -> int:
        """The bytes of all conditions in memory."""

    def text_bytes(self) -> int:
        """The bytes of the conditions and payloads of live subscriptions. Those of conditions are a share of all."""
        live = living(self.alive, len(self))
        return int(self.payload_bytes(live).sum()) + self.source_bytes() * len(live) // max(len(self), 1)

    @abstractmethod
    def as_segment(self, plan: Plan) -> Segment:
        """A segment with the same answers; the plan is used if it must be built."""

    def names_of(self, numbers: NDArray[np.int64]) -> list[SubscriptionId]:
        """The ids of some subscriptions as Python objects."""
        names: list[SubscriptionId] = self.ids_of(numbers).to_pylist()
        return names

    def ids_below(self, ids: Ids) -> NDArray[np.int64] | int:
        """For each of some ids, how many of its own are less; 0 if it has no ranks."""
        return 0


@dataclass(frozen=True, slots=True)
class SegmentSnapshot(Snapshot):
    """A segment, its live subscriptions, and their scores."""

    segment: Segment
    arrow_ids: pa.Array

    def __len__(self) -> int:
        return len(self.segment)

    def match(self, batch: EventBatch, k: int | None = None) -> Found:
        return self.segment.match(batch, self.alive, None if k is None else self.version.best(k))

    def structures(self, question: Question) -> Sequence[Structure]:
        return (self.segment.structure(question),)

    def part(self) -> Part:
        return replace(self.segment.part(), scores=self.version.scores)

    def compiled(self) -> CompiledExpressions:
        return self.segment.matcher.expressions()

    def part_of(self, span: tuple[int, int]) -> Part:
        return self.part()

    def kept(self, key: Any, span: tuple[int, int], make: Callable[[], Any]) -> Any:
        return self.segment.kept.get(key, make)

    def gate(self, attribute: str) -> Gate:
        matcher = self.segment.matcher
        gate: Gate = self.segment.kept.get(
            (Gate, attribute), lambda: Gate(attribute, matcher.attributes, matcher.expressions)
        )
        return gate

    def records(self) -> pa.Table:
        held = self.segment
        texts = (None if one is None else one.arrow() for one in (held.payloads, held.weights))
        return records_table(self.arrow_ids, held.sources.arrow(), self.version.scores, *texts)

    def all_ids(self) -> pa.Array:
        return self.arrow_ids

    def text(self, number: int) -> str:
        return self.segment.sources.text(number)

    def payloads(self) -> pa.Array | None:
        return None if self.segment.payloads is None else self.segment.payloads.arrow()

    def payload_bytes(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        if self.segment.payloads is None:
            return np.zeros(len(numbers), np.int64)
        starts = self.segment.payloads.starts
        lengths: NDArray[np.int64] = starts[numbers + 1] - starts[numbers]
        return lengths

    def source_bytes(self) -> int:
        return int(self.segment.sources.data.nbytes)

    def ids_of(self, numbers: NDArray[Any]) -> pa.Array:
        return ids_at(self.segment.ids, numbers)

    def as_segment(self, plan: Plan) -> Segment:
        """The same segment with these scores, under its own plan."""
        return replace(self.segment, scores=frozen(self.version.scores.copy(), np.float64), alive=self.alive)

    def ids_below(self, ids: Ids) -> NDArray[np.int64]:
        return find_ids(self.segment.ids, ids)[0]


def records_table(
    ids: pa.Array,
    sources: pa.Array,
    scores: NDArray[np.float64],
    payloads: pa.Array | None = None,
    weights: pa.Array | None = None,
) -> pa.Table:
    """Subscriptions as given: `id`, `where`, `score`, `payload`, `weights` (JSON texts, null if absent)."""
    texts = [pa.nulls(len(ids), pa.large_string()) if one is None else one for one in (payloads, weights)]
    given = [pc.if_else(pc.equal(one, ""), None, one) for one in texts]
    return pa.table(
        [ids, sources, pa.array(scores, pa.float64()), *given], ["id", "where", "score", "payload", "weights"]
    )
