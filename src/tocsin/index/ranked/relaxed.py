"""Of which subscriptions does most hold? A Ranker over the dimensions that are ranges, a Matcher for all others.

A dimension that compares one attribute with constants is a set of rank codes of one field: its ranges are intervals,
whose score is its weight. Whatever else there is (LIKE, OR of several attributes, IS NULL, geometry) is an expression,
and the Matcher says for which it holds.

Cost: memory 40 bytes a dimension beside Ranker and Matcher; time of an event O(candidates * dimensions of one),
never more than a look at every dimension, which is taken once the cursors have given a share of all.
`candidates_examined` counts intervals looked at, `verified` the subscriptions that were scored.

Source: Machanavajjhala et al. 2008, section 4; Fagin, Lotem, Naor 2003. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.batch import EventBatch
from tocsin.columns.binding import Binder
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.dimensions import Dimensions
from tocsin.errors import InvalidInput
from tocsin.index.alive import everyone
from tocsin.index.boolean.fields import fields_and_keys
from tocsin.index.plan import Plan
from tocsin.index.protocols import Alive, Matcher, Ranker
from tocsin.index.ranked.intervals import ScoredIntervals
from tocsin.index.registry import matcher_builder, ranker_builder
from tocsin.kernels.access_layouts import Fields
from tocsin.kernels.code_sets import CodeSets, merge_literals, most_scalar_values
from tocsin.kernels.dimensions import are_ranges
from tocsin.kernels.layouts import Bound
from tocsin.kernels.threshold import MAX, MIN, SUM, Asked, Best, Tables, best_relaxed, held_dimensions
from tocsin.model.ranking import Relaxed

_COMBINATIONS: Final = {"sum": SUM, "max": MAX, "min": MIN}
_SHARE: Final = 32
"""Cursors may give an interval for so many dimensions before all are looked at, one after the other."""
_ROOM: Final = 1 << 22
"""Places for answers that are asked for at once."""
_GRAIN: Final = 2.0**20
"""Sums of weights up to this, in parts of one by this, are never rounded: 8,000 of them have fewer than 53 bits."""


class ScoredMatches(NamedTuple):
    """The best of each event, best first, in CSR form. E events, M matches."""

    starts: NDArray[np.int64]  # (E + 1,)
    subscriptions: NDArray[np.int32]  # (M,)
    scores: NDArray[np.float64]  # (M,)
    candidates_examined: int
    verified: int

    @property
    def events(self) -> NDArray[np.int64]:
        """(M,) each match's event, as its place in the batch."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class RelaxedIndex:
    """Answers `Relaxed`. Immutable; many threads may match."""

    def __init__(
        self, dimensions: Dimensions, parts: RangeParts, ranker: Ranker, matcher: Matcher, *, by_cursors: bool = True
    ) -> None:
        self._dimensions = dimensions
        self._parts = parts
        self._matcher = matcher
        self._binder = Binder(parts.compiled)
        self._ranker = ranker
        self._most = len(dimensions) // _SHARE + 64 if by_cursors else 0
        self._everyone = everyone(dimensions.subscriptions)
        weights = dimensions.weights
        self._is_exact = bool((weights <= _GRAIN).all()) and bool((weights * _GRAIN % 1 == 0).all())
        self._tables = _tables(dimensions, parts, ranker)

    @property
    def attributes(self) -> list[str]:
        """The attributes that any dimension looks at."""
        return self._dimensions.compiled.attributes

    def match(self, batch: EventBatch, ranking: Relaxed, alive: Alive = None) -> ScoredMatches:
        """The k best of each event among the subscriptions that are alive; ties by number."""
        bound = self._binder.bind(batch)
        general = self._matcher.match(batch)
        asked = self._asked(ranking, general.starts, general.subscriptions)
        living = self._everyone if alive is None else alive
        if callable(ranking.combine):
            return self._by_function(batch, bound, ranking, asked, living, general.candidates_examined)
        count, k = len(batch), min(ranking.k, max(self._dimensions.subscriptions, 1))
        step = max(1, _ROOM // k)
        spans = [(first, min(first + step, count)) for first in range(0, count, step)]
        parts = [self._some(batch, bound, asked, living, k, *span) for span in spans]
        lengths = [np.diff(starts, prepend=0) for starts, *_ in parts]
        counts = np.sum([np.zeros(2, np.int64), *(part[3] for part in parts)], axis=0)
        return ScoredMatches(
            starts_of(np.concatenate([np.empty(0, np.int64), *lengths]), count),
            np.concatenate([np.empty(0, np.int32), *(part[1] for part in parts)]),
            np.concatenate([np.empty(0), *(part[2] for part in parts)]),
            int(counts[0]) + general.candidates_examined,
            int(counts[1]),
        )

    def _asked(self, ranking: Relaxed, starts: NDArray[np.int64], held: NDArray[np.int32]) -> Asked:
        """What the kernels are to do, and the general dimensions that hold and are not dropped."""
        names = self.attributes
        numbers = [number for number, name in enumerate(names) if name in ranking.drop]
        compiled, fields = self._parts.compiled, self._parts.fields
        owners = np.repeat(np.arange(len(compiled.attributes)), np.diff(fields.starts))
        dropped = np.isin(owners, [n for n, name in enumerate(compiled.attributes) if name in ranking.drop])
        if numbers and len(held):
            own = self._dimensions.subset(self._parts.general)
            ignored = np.zeros(len(own), bool)
            at = np.repeat(np.arange(len(own)), np.diff(own.named_starts))
            ignored[at[np.isin(own.named, numbers)]] = True
            kept = np.concatenate([[0], np.cumsum(~ignored[held])])
            starts, held = kept[starts], held[~ignored[held]]
        combine = SUM if callable(ranking.combine) else _COMBINATIONS[ranking.combine]
        return Asked(
            combine,
            self._is_exact,
            self._most,
            frozen(dropped, np.uint8),
            frozen(starts, np.int64),
            frozen(held, np.int32),
        )

    def _some(
        self, batch: EventBatch, bound: Bound, asked: Asked, alive: NDArray[np.uint64], k: int, first: int, stop: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """The best of events [first, stop): where each ends, subscriptions, scores, and counts of work."""
        fields = self._parts.fields
        widest = int(most_scalar_values(fields, batch.arrays, bound.attributes))
        states = np.zeros((widest, len(self._ranker.new_state())), np.int64)
        best = Best(np.empty(k), np.empty(k, np.int32))
        ends = np.zeros(len(batch), np.int64)
        out, scores = np.empty((stop - first) * k, np.int32), np.empty((stop - first) * k)
        counts = np.zeros(2, np.int64)
        best_relaxed(
            self._ranker.structure,
            self._tables,
            asked,
            fields,
            batch.arrays,
            bound,
            alive,
            widest,
            first,
            stop,
            states,
            best,
            ends,
            out,
            scores,
            counts,
        )
        count = ends[stop - 1]
        return ends[first:stop], out[:count], scores[:count], counts

    def _by_function(
        self,
        batch: EventBatch,
        bound: Bound,
        ranking: Relaxed,
        asked: Asked,
        alive: NDArray[np.uint64],
        examined: int,
    ) -> ScoredMatches:
        """With a function of the caller's: every dimension that holds, event by event, in Python."""
        assert callable(ranking.combine)
        numbers: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        scores: list[NDArray[np.float64]] = [np.empty(0)]
        dimensions, verified = self._dimensions, 0
        for event in range(len(batch)):
            held = held_dimensions(self._tables, asked, self._parts.fields, batch.arrays, bound, event, alive)
            owners, weights = dimensions.owners[held], dimensions.weights[held]
            found, firsts = np.unique(owners, return_index=True)
            own = [_combined(ranking, part) for part in np.split(weights, firsts[1:])] if len(found) else []
            order = np.lexsort((found, -np.array(own, np.float64)))[: ranking.k]
            numbers.append(found[order])
            scores.append(np.array(own, np.float64)[order])
            verified += len(found)
        starts = starts_of([len(one) for one in numbers[1:]], len(batch))
        examined += len(batch) * len(dimensions)
        return ScoredMatches(starts, np.concatenate(numbers), np.concatenate(scores), examined, verified)


def _combined(ranking: Relaxed, weights: NDArray[np.float64]) -> float:
    """A function's score; raises `InvalidInput` where that is no finite number."""
    assert callable(ranking.combine)
    score = ranking.combine(weights.tolist())
    if isinstance(score, bool) or not isinstance(score, int | float) or not np.isfinite(score):
        raise InvalidInput(f"combine gave {score!r:.60} for {weights.tolist()!r:.80}; it must give a finite number")
    return float(score)


def build_relaxed(dimensions: Dimensions, plan: Plan) -> RelaxedIndex:
    """Under the plan's ranker or, where the plan is `scan`, without: then every dimension is looked at.

    Cost: O(D log D) for D dimensions.
    """
    parts = range_parts(dimensions)
    is_scan = plan.index == "scan"
    intervals = intervals_of(dimensions, parts, none=is_scan)
    ranker = ranker_builder(plan.ranker, plan.ranker_options).build(intervals)
    general = dimensions.subset(parts.general).compiled
    matcher = matcher_builder("scan" if is_scan else "access", {}).build(general, plan.statistics)
    return RelaxedIndex(dimensions, parts, ranker, matcher, by_cursors=not is_scan)


class RangeParts(NamedTuple):
    """The dimensions that are ranges, as sets of codes, and which are not. D dimensions, P of them ranges."""

    compiled: CompiledExpressions  # of the dimensions that are ranges
    fields: Fields
    sets: CodeSets  # one predicate each
    ranges: NDArray[np.int64]  # (P,) which dimensions they are
    general: NDArray[np.int64]  # (G,) which dimensions are neither ranges nor never satisfied


def range_parts(dimensions: Dimensions) -> RangeParts:
    """Tell dimensions that are ranges of one field's codes from others; what can never hold is left out of both."""
    simple = np.flatnonzero(are_ranges(dimensions.compiled.arrays))
    own = dimensions.subset(simple).compiled
    fields, keys = fields_and_keys(own, np.ones(len(own.attributes)))
    kept, sets = merge_literals(own.arrays.program_starts, own.arrays.program, keys, fields.operand_starts)
    alone = np.flatnonzero(np.diff(sets.starts) == 1)
    several = np.setdiff1d(np.arange(len(kept)), alone)
    general = np.union1d(np.setdiff1d(np.arange(len(dimensions)), simple), simple[kept[several]])
    predicates = sets.starts[alone]
    ranges, _ = gathered(sets.range_starts, predicates)
    chosen = CodeSets(
        np.arange(len(alone) + 1),
        sets.fields[predicates],
        sets.negated[predicates],
        starts_of(np.diff(sets.range_starts)[predicates], len(alone)),
        sets.lows[ranges],
        sets.highs[ranges],
    )
    return RangeParts(own, fields, chosen, simple[kept[alone]], general)


def intervals_of(dimensions: Dimensions, parts: RangeParts, *, none: bool = False) -> ScoredIntervals:
    """The ranges of all dimensions, by field (or `none` of them); owners are dimensions."""
    lengths = np.diff(parts.sets.range_starts)
    kept = slice(0 if none else None)
    own = np.repeat(parts.ranges, lengths)[kept]
    return ScoredIntervals.of(
        np.repeat(parts.sets.fields, lengths)[kept],
        parts.sets.lows[kept],
        parts.sets.highs[kept],
        dimensions.weights[own],
        own.astype(np.int32),
        2 * np.diff(parts.fields.operand_starts),
    )


def _tables(dimensions: Dimensions, parts: RangeParts, ranker: Ranker) -> Tables:
    count = len(dimensions)
    fields = np.zeros(count, np.int32)
    lengths = np.zeros(count, np.int64)
    fields[parts.ranges], lengths[parts.ranges] = parts.sets.fields, np.diff(parts.sets.range_starts)
    fields[parts.general] = -1 - np.arange(len(parts.general))
    attributes = np.repeat(np.arange(len(parts.compiled.attributes)), np.diff(parts.fields.starts))
    order = sorted(range(len(parts.compiled.attributes)), key=parts.compiled.attributes.__getitem__)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    return Tables(
        frozen(np.searchsorted(dimensions.owners, np.arange(dimensions.subscriptions + 1)), np.int64),
        dimensions.weights,
        frozen(fields, np.int32),
        starts_of(lengths, count),
        frozen(parts.sets.lows, np.int32),
        frozen(parts.sets.highs, np.int32),
        frozen(ranks[attributes], np.int32),
        ranker.starts,
        ranker.scores,
        frozen(dimensions.owners[ranker.owners], np.int32),
        frozen(dimensions.owners[parts.general], np.int32),
    )
