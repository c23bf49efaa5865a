"""What is an index asked? Subscriptions to build it of, and events, which are encoded before the clock runs."""

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
from tocsin.columns.expressions.compiled import CompiledExpressions
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
    """What any kind of workload is to the measurements."""

    @property
    def subscriptions(self) -> Any:
        """What an index is built of."""

    def build(self, registration: Registration, options: Mapping[str, int]) -> Any:
        """What is asked, under a registered index. Raises `UnsuitableIndex`."""

    @property
    def warm_up(self) -> range:
        """The events that an index is asked before it is measured; they tell how long one takes."""

    @property
    def events(self) -> range:
        """Those that it is measured by."""

    def ask(self, index: Any, events: range) -> Ask:
        """What asks an index about these events; they are encoded by now."""

    def nbytes(self, index: Any) -> int:
        """Bytes of what the paper counts as the index."""


@dataclass(frozen=True, slots=True)
class Expressions:
    """Compiled subscriptions, and events as dicts; all matches are asked for."""

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
    """Scored intervals, a group a dimension, and points; the best `k` intervals in every dimension are asked for."""

    subscriptions: ScoredIntervals
    codes: NDArray[np.int32] = field(repr=False)  # (points, d)
    k: int
    warm_up: range
    events: range

    def build(self, registration: Registration, options: Mapping[str, int]) -> Any:
        return registration.builder(**options).build(self.subscriptions)

    def ask(self, index: Ranker, events: range) -> Ask:
        """A thousand points at a time, so that their answers find room."""
        batches = [self.codes[at : min(at + _BATCH, events.stop)] for at in events[::_BATCH]]
        asked = [(np.tile(np.arange(own.shape[1], dtype=np.int32), len(own)), own.reshape(-1)) for own in batches]
        return lambda: [index.best(groups, codes, self.k) for groups, codes in asked]

    def nbytes(self, index: Ranker) -> int:
        """Without scores and owners, which every structure leads to alike."""
        return index.sizes()["structure"]


@dataclass(frozen=True, slots=True)
class RelaxedBoxes:
    """Boxes, a scored interval a dimension, and points; asked for are the `k` boxes of the highest sums of scores."""

    subscriptions: Dimensions
    points: Floats = field(repr=False)  # (points, d)
    k: int
    warm_up: range
    events: range

    def build(self, registration: Registration, options: Mapping[str, int]) -> RelaxedIndex:
        """By the threshold algorithm alone, as the paper has it, where the index is a ranker; else as tocsin plans it.

        So `access` looks at everything where cursors give too much, and `scan` always.
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
        """Of all dimensions; without scores and owners."""
        return index.sizes()["structure"]


def dimensions_of(boxes: Boxes) -> Dimensions:
    """A dimension for each side of each box: `d BETWEEN low AND high`, of its score's weight."""
    count, size = boxes.lows.shape
    chosen = np.tile(np.arange(size, dtype=np.int32), count)
    starts = np.arange(len(chosen) + 1)
    compiled = ranges(dimension_names(size), starts, chosen, boxes.lows.reshape(-1), boxes.highs.reshape(-1))
    owners = frozen(np.repeat(np.arange(count), size), np.int32)
    weights = frozen(boxes.scores.reshape(-1), np.float64)
    return Dimensions(count, compiled, owners, weights, frozen(starts, np.int64), frozen(chosen, np.int32))


def dimension_names(size: int) -> list[str]:
    """What dimensions are called: by their names they come in order, as their weights are added."""
    return [f"d{number:03}" for number in range(size)]


def ranges(
    names: Sequence[str], starts: NDArray[np.int64], chosen: NDArray[np.int32], lows: Floats, highs: Floats
) -> CompiledExpressions:
    """Conjunctions of `attribute BETWEEN low AND high`."""
    operations = np.full(len(chosen), codes.EQUAL, np.uint8)
    compiled = compile_conjunctions(names, starts, chosen, operations, lows)
    arrays = compiled.arrays._replace(leaf_highs=frozen(keys_of(highs), np.int64))
    return replace(compiled, arrays=arrays)


def coded(boxes: Boxes, points: Floats) -> tuple[ScoredIntervals, NDArray[np.int32]]:
    """Values as rank codes of their dimension: 2 r + 1 is the r-th distinct end, 2 r lies just before it."""
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
