"""What is an index asked? Subscriptions to build it of, and events, which are encoded before the clock runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reproduce.zipfian import Boxes, Floats
from tocsin.columns.batch import EventBatch, Wanted
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.objects import encode_objects
from tocsin.index import Matcher, Ranker
from tocsin.index.ranked.intervals import ScoredIntervals

Ask: TypeAlias = Callable[[], Any]

_PROBE = 16
_BATCH = 1000


class Load(Protocol):
    """What any kind of workload is to the measurements."""

    @property
    def subscriptions(self) -> Any:
        """What a builder builds its index of."""

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

    def ask(self, index: Ranker, events: range) -> Ask:
        """A thousand points at a time, so that their answers find room."""
        batches = [self.codes[at : min(at + _BATCH, events.stop)] for at in events[::_BATCH]]
        asked = [(np.tile(np.arange(own.shape[1], dtype=np.int32), len(own)), own.reshape(-1)) for own in batches]
        return lambda: [index.best(groups, codes, self.k) for groups, codes in asked]

    def nbytes(self, index: Ranker) -> int:
        """Without scores and owners, which every structure leads to alike."""
        return index.sizes()["structure"]


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
