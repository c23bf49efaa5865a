"""The index for similarity: a structure finds candidates, whose similarity to the event is then computed.

A subscription takes part if its outermost AND asks once for a box that an attribute meets, and once for strings that a
list or text contains. Anything else it asks for must hold as a whole. Both sides of a box across the antimeridian count
as one box, in subscriptions and events.

Cost: that of the structure, and a look at each candidate's keywords. Other subscriptions are only counted.
`candidates_examined` counts the subscriptions compared.

Source: Yu et al. 2015, section 6. Departs: docs/papers/location_aware.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.binding import Binder
from tocsin.columns.crossing import with_crossing_boxes as events_with_crossing_boxes
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.forking import awaited
from tocsin.index.alive import Alive, are_alive, bitmap, everyone
from tocsin.index.filtering.boxes import with_crossing_boxes
from tocsin.index.filtering.index import found_by, verified
from tocsin.index.filtering.kernels.layouts import LEFT, RIGHT, Coming
from tocsin.index.found import Found
from tocsin.index.spatial_text.kernels.choosing import without_leaves
from tocsin.index.spatial_text.kernels.layouts import Seen
from tocsin.index.spatial_text.kernels.resembling import Similarity, Weighed, score_found, weigh
from tocsin.index.spatial_text.regions import Coded, Held
from tocsin.kernels.answers.ordering import best_first
from tocsin.model.ranking import Similar

Make: TypeAlias = Callable[[Held, Weighed], Any]
"""Makes the structure that `find_alike` searches."""

SLACK: Final = 1e-9
"""Bounds are loosened by this, because they are rounded differently from scores."""


@dataclass(frozen=True, slots=True)
class _Weighing:
    """A structure, and the weights that it was made for."""

    given: Mapping[str, float] | None
    weighed: Weighed
    structure: Any


class AlikeIndex:
    """Answers `Similar`. Immutable, except that it keeps the structure for the last weights. Threads may share it."""

    def __init__(self, compiled: CompiledExpressions, make: Make) -> None:
        coded = Coded.of(with_crossing_boxes(compiled), only_words=True)
        answers = (coded.chosen.regions == 1) & (coded.chosen.lists == 1)
        self._others = np.flatnonzero(~answers)
        self._numbers = np.flatnonzero(answers & (coded.chosen.boxes >= 0)).astype(np.int32)
        self._held = _without_what_finds(subset(coded.expressions, self._numbers))
        self._found_by = _with_bands(self._held)
        self._make = make
        self._binder = Binder(self._held.expressions)
        self._lock = awaited(threading.Lock())
        self._weighing: _Weighing | None = None
        self._threads = threading.local()

    def match(self, batch: EventBatch, ranking: Similar, alive: Alive = None) -> Found:
        """All live subscriptions that reach the threshold, best first; ties by number."""
        unanswered = len(self._others) if alive is None else int(are_alive(alive, self._others).sum())
        weighing, held = self._weighing_for(ranking.weights), self._held
        own = everyone(len(self._numbers)) if alive is None else bitmap(are_alive(alive, self._numbers))
        bound = self._binder.bind_to_walk(batch)
        coming = Coming(batch.arrays, bound, frozen(own, np.uint64), alive is not None)
        whole_boxes = coming._replace(events=events_with_crossing_boxes(batch))
        asked, seen = asked_of(ranking, held, weighing.weighed), self._memory()
        found = found_by(weighing.structure, asked, whole_boxes, seen)
        whole = verified(held.expressions, held.asks_more, coming, found)
        places = frozen(whole.starts, np.int64), frozen(whole.subscriptions, np.int32)
        scores = score_found(asked, whole_boxes, seen, *places)
        order = best_first(whole.events, scores, max(len(scores), 1))
        numbers = self._numbers[whole.subscriptions[order]]
        return whole._replace(subscriptions=numbers, scores=scores[order], unanswered=unanswered)

    def _weighing_for(self, weights: Mapping[str, float] | None) -> _Weighing:
        """The structure for some weights; the last one is kept."""
        with self._lock:
            kept = self._weighing
            if kept is None or kept.given is not weights:
                weighed = weigh(self._held.regions, self._weights(weights))
                kept = self._weighing = _Weighing(weights, weighed, self._make(self._found_by, weighed))
            return kept

    def _weights(self, weights: Mapping[str, float] | None) -> NDArray[np.float64]:
        """The weight of each token."""
        keywords, texts = self._held.keywords, self._held.expressions.vocabulary
        own = np.ones(len(keywords.operands))
        for field in np.flatnonzero(keywords.rows >= 0):
            tokens = range(*keywords.operand_starts[field : field + 2])
            own[tokens] = [(weights or {}).get(texts.text(keywords.operands[token] >> 1), 1.0) for token in tokens]
        return frozen(own, np.float64)

    def _memory(self) -> Seen:
        kept: Seen | None = getattr(self._threads, "seen", None)
        if kept is None:
            kept = self._threads.seen = self._held.new_seen(stamps=True)
        return kept


def _without_what_finds(compiled: CompiledExpressions) -> Held:
    """The regions of expressions, with expressions that ask only for the rest."""
    coded = Coded.of(compiled, only_words=True)
    arrays = coded.expressions.arrays
    starts, program = without_leaves(arrays, coded.kinds, coded.chosen.boxes)
    rest = arrays._replace(program_starts=frozen(starts, np.int64), program=frozen(program, np.int32))
    return replace(Held.of_coded(coded), expressions=replace(coded.expressions, arrays=rest))


def _with_bands(held: Held) -> Held:
    """The regions for the search: a region across the antimeridian spans all longitudes."""
    crosses = held.regions.boxes[:, LEFT] > held.regions.boxes[:, RIGHT]
    if not crosses.any():
        return held
    boxes = held.regions.boxes.copy()
    boxes[crosses, LEFT], boxes[crosses, RIGHT] = -180.0, 180.0
    return replace(held, regions=held.regions._replace(boxes=frozen(boxes, np.float64)))


def asked_of(ranking: Similar, held: Held, weighed: Weighed) -> Similarity:
    """The request of a ranking, with the bounds of section 6.2 (equations 5 and 6)."""
    alpha, threshold = float(ranking.alpha), float(ranking.threshold)
    if alpha == 1.0:
        return Similarity(alpha, threshold, -np.inf, np.inf, held.keywords, held.regions, weighed)
    near, far = (threshold - alpha) / (1.0 - alpha), threshold / (1.0 - alpha)
    return Similarity(alpha, threshold, near - SLACK, far - SLACK, held.keywords, held.regions, weighed)
