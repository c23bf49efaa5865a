"""Workloads for measurements: subscriptions to build an index from, and events, encoded before timing starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reproduce.zipfian import Boxes, Floats
from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.writer import compile_conjunctions
from tocsin.columns.payloads import keys_of
from tocsin.index import Matcher, Ranker, Registration, ranker_builder
from tocsin.index.relaxed.dimensions import Dimensions
from tocsin.index.relaxed.index import RelaxedIndex, build_relaxed
from tocsin.index.relaxed.question import RANKER
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.kernels import codes
from tocsin.model.ranking import Relaxed

Ask: TypeAlias = Callable[[], Any]

_PROBE = 16
_BATCH = 1000


class Load(Protocol):
    """The interface of all workloads."""

    @property
    def subscriptions(self) -> Any:
        """The subscriptions to build an index from."""

    def build(self, registration: Registration, options: Mapping[str, int]) -> Any:
        """Build a registered index. Raises `UnsuitableIndex`."""

    @property
    def warm_up(self) -> range:
        """The events before a measurement, which also tell how long one takes."""

    @property
    def events(self) -> range:
        """The events to measure."""

    def ask(self, index: Any, events: range) -> Ask:
        """A function that matches these events; they are encoded beforehand."""

    def nbytes(self, index: Any) -> int:
        """The bytes that the paper counts for the index."""


@dataclass(frozen=True, slots=True)
class Expressions:
    """Compiled subscriptions, and events as dicts, for all matches."""

    subscriptions: CompiledExpressions
    rows: list[dict[str, Any]]

    @property
    def warm_up(self) -> range:
        return self.events[:_PROBE]

    @property
    def events(self) -> range:
        return range(len(self.rows))

    def build(self, registration: Registration, options: Mapping[str, int]) -> Any:
        return registration.builder(**options).build(self.subscriptions)

    def batch(self, wanted: Wanted, events: range) -> EventBatch:
        return encode_objects(((number, self.rows[number]) for number in events), wanted)

    def ask(self, index: Matcher, events: range) -> Ask:
        batch = self.batch(Wanted(index.attributes), events)
        return lambda: index.match(batch)

    def nbytes(self, index: Matcher) -> int:
        return sum(index.sizes().values())


@dataclass(frozen=True, slots=True)
class Intervals:
    """Scored intervals, with a group per dimension, and points; for the best `k` intervals in every dimension."""

    subscriptions: ScoredIntervals
    codes: NDArray[np.int32] = field(repr=False)  # (points, d)
    k: int
    warm_up: range
    events: range

    def build(self, registration: Registration, options: Mapping[str, int]) -> Any:
        return registration.builder(**options).build(self.subscriptions)

    def ask(self, index: Ranker, events: range) -> Ask:
        """In blocks of a thousand points, so that the answers fit in memory."""
        batches = [self.codes[at : min(at + _BATCH, events.stop)] for at in events[::_BATCH]]
        asked = [(np.tile(np.arange(own.shape[1], dtype=np.int32), len(own)), own.reshape(-1)) for own in batches]
        return lambda: [index.best(groups, codes, self.k) for groups, codes in asked]

    def nbytes(self, index: Ranker) -> int:
        """Without scores and owners, which are the same for all structures."""
        return index.sizes()["structure"]


@dataclass(frozen=True, slots=True)
class RelaxedBoxes:
    """Boxes with a scored interval per dimension, and points; for the `k` boxes with the highest sums of scores."""

    subscriptions: Dimensions
    points: Floats = field(repr=False)  # (points, d)
    k: int
    warm_up: range
    events: range

    def build(self, registration: Registration, options: Mapping[str, int]) -> RelaxedIndex:
        """Build with the threshold algorithm alone, as in the paper, for a ranker; otherwise as tocsin plans.

        So `access` examines everything where cursors yield too much, and `scan` always does.
        """
        if registration.question == "the best first":
            ranker = ranker_builder(registration.name, options)
            return build_relaxed(self.subscriptions, ranker, most=len(self.subscriptions))
        return build_relaxed(self.subscriptions, ranker_builder(RANKER, {}), is_scan=registration.name == "scan")

    def ask(self, index: RelaxedIndex, events: range) -> Ask:
        names = dimension_names(self.points.shape[1])
        columns = self.points[events.start : events.stop].T
        batch = encode_table(pa.table(dict(zip(names, columns, strict=True))), Wanted(index.attributes))
        return lambda: index.match(batch, Relaxed(self.k))

    def nbytes(self, index: RelaxedIndex) -> int:
        """Of all dimensions, without scores and owners."""
        return index.sizes()["structure"]


def dimensions_of(boxes: Boxes) -> Dimensions:
    """A dimension for each side of each box: `d BETWEEN low AND high`, weighted by its score."""
    count, size = boxes.lows.shape
    chosen = np.tile(np.arange(size, dtype=np.int32), count)
    starts = np.arange(len(chosen) + 1)
    compiled = ranges(dimension_names(size), starts, chosen, boxes.lows.reshape(-1), boxes.highs.reshape(-1))
    owners = frozen(np.repeat(np.arange(count), size), np.int32)
    weights = frozen(boxes.scores.reshape(-1), np.float64)
    return Dimensions(count, compiled, owners, weights, frozen(starts, np.int64), frozen(chosen, np.int32))


def dimension_names(size: int) -> list[str]:
    """Names of dimensions whose order is that of the dimensions, because weights are added in this order."""
    return [f"d{number:03}" for number in range(size)]


def ranges(
    names: Sequence[str], starts: NDArray[np.int64], chosen: NDArray[np.int32], lows: Floats, highs: Floats
) -> CompiledExpressions:
    """Conjunctions of `attribute BETWEEN low AND high`."""
    operations = np.full(len(chosen), codes.EQUAL, np.uint8)
    compiled = compile_conjunctions(names, starts, chosen, operations, lows)
    arrays = compiled.arrays._replace(leaf_highs=frozen(keys_of(highs), np.int64))
    return replace(compiled, arrays=arrays)


def sets(
    names: Sequence[str], starts: NDArray[np.int64], chosen: NDArray[np.int32], elements: Floats
) -> CompiledExpressions:
    """Conjunctions of `attribute IN (...)`. `elements` (P, n) has those of each predicate, ascending."""
    count, width = elements.shape
    compiled = compile_conjunctions(names, starts, chosen, np.full(count, codes.EQUAL, np.uint8), elements[:, 0])
    numbers = np.arange(count)
    leaves = leaf_arrays(count, kinds=codes.IN_SET, types=codes.NUMBER, attributes=chosen, others=numbers)
    arrays = compiled.arrays._replace(
        set_starts=frozen(width * np.arange(count + 1), np.int64),
        set_types=frozen(np.full(count * width, codes.NUMBER), np.uint8),
        set_payloads=frozen(keys_of(elements.reshape(-1)), np.int64),
        **leaves,
    )
    return replace(compiled, arrays=arrays)


def coded(boxes: Boxes, points: Floats) -> tuple[ScoredIntervals, NDArray[np.int32]]:
    """Values as rank codes of their dimension: 2 r + 1 for the r-th distinct end, 2 r for values just before it."""
    count, dimensions = boxes.lows.shape
    lows, highs, codes = (np.empty(part.shape, np.int32) for part in (boxes.lows, boxes.highs, points))
    last = np.empty(dimensions, np.int64)
    for d in range(dimensions):
        operands = np.unique(np.concatenate([boxes.lows[:, d], boxes.highs[:, d]]))
        last[d] = 2 * len(operands)
        for out, values in ((lows, boxes.lows), (highs, boxes.highs), (codes, points)):
            out[:, d] = rank_codes(operands, values[:, d])
    groups = np.repeat(np.arange(dimensions, dtype=np.int32), count)
    owners = np.tile(np.arange(count, dtype=np.int32), dimensions)
    flat = (part.T.reshape(-1) for part in (lows, highs, boxes.scores))
    return ScoredIntervals.of(groups, *flat, owners, last), codes


def rank_codes(operands: Floats, values: Floats) -> NDArray[np.int64]:
    """The code of each value among sorted distinct operands."""
    ranks = np.searchsorted(operands, values)
    exactly = operands[np.minimum(ranks, len(operands) - 1)] == values
    return 2 * ranks + exactly
