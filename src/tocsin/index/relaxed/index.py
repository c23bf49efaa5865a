"""The index for relaxed rankings: a Ranker over the dimensions that are ranges, and a Matcher over all others.

A dimension that compares one attribute with constants is a set of rank codes of one field. Its ranges are intervals
whose score is the dimension's weight. Any other dimension (LIKE, OR of several attributes, IS NULL, geometry) is an
expression, and the Matcher finds the ones that hold.

Cost: memory 40 bytes a dimension beside Ranker and Matcher. An event takes O(candidates * dimensions of one), but never
much more than a scan of every dimension: events for which the cursors return too much are scanned.
`candidates_examined` counts intervals examined, `verified` the subscriptions scored.

Source: Machanavajjhala et al. 2008, section 4; Fagin, Lotem, Naor 2003. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.checks import require
from tocsin.errors import InvalidInput
from tocsin.index.alive import Alive, everyone
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.boolean.scan import Scan
from tocsin.index.fields.kernels.code_sets import read_codes
from tocsin.index.found import Found
from tocsin.index.protocols import Arrays, Builder, Matcher
from tocsin.index.relaxed.dimensions import Dimensions
from tocsin.index.relaxed.kernels.field_lists import best_by_lists
from tocsin.index.relaxed.kernels.layouts import MAX, MIN, SUM, EventFields, Heaps, Values, Work
from tocsin.index.relaxed.kernels.one_by_one import best_one_by_one, held_dimensions
from tocsin.index.relaxed.kernels.threshold import LEFT, Cursors, best_by_cursors
from tocsin.index.relaxed.kernels.tiles import MOST_EVENTS, best_by_tiles
from tocsin.index.relaxed.rows import Rows, rows_of
from tocsin.index.relaxed.stored import GENERAL, restored_rows, stored_rows
from tocsin.index.relaxed.tables import ROOM, RelaxedTables
from tocsin.index.scored.ranker import Ranker, RankerBuilder
from tocsin.index.statistics import Statistics
from tocsin.model.ranking import Relaxed
from tocsin.model.readings import attribute_of

_COMBINATIONS: Final = {"sum": SUM, "max": MAX, "min": MIN}
_AT_ONCE: Final = 1 << 22
"""The most answers for which room is made at once."""
_GRAIN: Final = 2.0**20
"""Sums of weights are exact if weights are multiples of 1 / this, and at most this: 8,000 of them fit in 53 bits."""


class RelaxedIndex:
    """Answers `Relaxed`. Immutable; threads may share it.

    Cursors may return `most` intervals for an event before all dimensions are scanned. The default is as many as take
    about as long as the scan; below 0 cursors are not used. `room` is as in `RelaxedTables.of`.
    """

    def __init__(
        self,
        rows: Rows,
        ranker: Ranker,
        matcher: Matcher,
        *,
        most: int | None = None,
        room: int = ROOM,
    ) -> None:
        self._rows = rows
        self._matcher = matcher
        self._extents = ExtentMatching()
        self._ranker = ranker
        self._binder = Binder(rows.compiled)
        self._everyone = everyone(rows.subscriptions)
        weights = rows.table.weights
        self._is_exact = bool((weights <= _GRAIN).all()) and bool((weights * _GRAIN % 1 == 0).all())
        self._tables = RelaxedTables.of(rows, ranker, room)
        self._limits = (most, 0.0, 0.0) if most is not None else _worth(rows, self._tables.tiles is not None)

    @property
    def attributes(self) -> list[str]:
        """The attributes that the dimensions refer to."""
        return self._rows.attributes

    def arrays(self) -> Arrays:
        """The arrays to save, for `restored_relaxed`."""
        general = {GENERAL + name: array for name, array in self._matcher.arrays().items()}
        order = self._ranker.arrangement
        return {**stored_rows(self._rows), **general, **({} if order is None else {_ARRANGEMENT: order})}

    def sizes(self) -> Mapping[str, int]:
        """Bytes of what the cursors walk, by part."""
        return self._ranker.sizes()

    def match(self, batch: EventBatch, ranking: Relaxed, alive: Alive = None) -> Found:
        """The k best live subscriptions of each event, best first; ties by number."""
        general = self._general(batch)
        asked = self._asked(batch, ranking, general, self._everyone if alive is None else alive)
        if callable(ranking.combine):
            return self._by_function(ranking, asked, general.candidates_examined)
        k = min(ranking.k, max(self._rows.subscriptions, 1))
        found = list(self._in_steps(asked, k, max(1, _AT_ONCE // k)))
        counts = np.sum([np.zeros(2, np.int64), *(one[3] for one in found)], axis=0)
        return Found(
            starts=starts_of(np.concatenate([np.empty(0, np.int64), *(one[0] for one in found)]), len(batch)),
            subscriptions=np.concatenate([np.empty(0, np.int32), *(one[1] for one in found)]),
            candidates_examined=int(counts[0]) + general.candidates_examined,
            verified=int(counts[1]),
            scores=np.concatenate([np.empty(0), *(one[2] for one in found)]),
        )

    def _general(self, batch: EventBatch) -> Found:
        """The general dimensions that hold. If there are none, the Matcher is not asked, nor compiled."""
        if not self._rows.generals:
            return Found(np.zeros(len(batch) + 1, np.int64), np.empty(0, np.int32), 0, 0)
        return self._extents.match(self._matcher, batch)

    def _asked(self, batch: EventBatch, ranking: Relaxed, general: Found, alive: NDArray[np.uint64]) -> EventFields:
        """The kernels' input: the events' codes, and the general dimensions that hold and are not dropped."""
        fields, names = self._rows.fields, self._rows.compiled.attributes
        owners = np.repeat(np.arange(len(names)), np.diff(fields.starts))
        left_out = [number for number, name in enumerate(names) if attribute_of(name) in ranking.drop]
        dropped = frozen(np.isin(owners, left_out), np.uint8)
        bound = self._binder.bind(batch)
        codes = read_codes(fields, batch.arrays, bound, dropped, self._tables.ranks)
        held_starts, held = self._without_dropped(general, ranking)
        held_starts, held, alive = frozen(held_starts, np.int64), frozen(held, np.int32), frozen(alive, np.uint64)
        combine = SUM if callable(ranking.combine) else _COMBINATIONS[ranking.combine]
        return EventFields(*codes, held_starts, held, alive, combine, self._is_exact, *self._limits)

    def _without_dropped(self, found: Found, ranking: Relaxed) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The general dimensions that hold and name no dropped attribute."""
        numbers = [number for number, name in enumerate(self.attributes) if attribute_of(name) in ranking.drop]
        if not numbers or not len(found.subscriptions):
            return found.starts, found.subscriptions
        owners = np.repeat(np.arange(self._rows.generals), np.diff(self._rows.named_starts))
        ignored = np.zeros(self._rows.generals, bool)
        ignored[owners[np.isin(self._rows.named, numbers)]] = True
        keep = ~ignored[found.subscriptions]
        kept = np.concatenate([[0], np.cumsum(keep)])
        return kept[found.starts], found.subscriptions[keep]

    def _in_steps(
        self, asked: EventFields, k: int, step: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]]:
        """For `step` events at a time: how many are found, subscriptions, scores, and counts of work."""
        for first in range(0, len(asked.starts) - 1, step):
            part = asked._replace(
                starts=asked.starts[first : first + step + 1], held_starts=asked.held_starts[first : first + step + 1]
            )
            work = self._work(part, k)
            self._best(work)
            scores, numbers, found, counts = work.heaps
            taken = np.arange(k) < found[:, None]
            yield found, numbers[taken], scores[taken], counts

    def _work(self, asked: EventFields, k: int) -> Work:
        """The tables of the kernels, with room for the k best of each event."""
        fields, generals, events = len(self._rows.fields.kinds), self._rows.generals, len(asked.starts) - 1
        nothing = np.full((2, fields), -1, np.int32)
        values = Values(nothing[0], nothing[1], np.zeros(generals + 1, np.uint8))
        best = np.empty((events, k)), np.empty((events, k), np.int32)
        heaps = Heaps(*best, np.empty(events, np.int64), np.zeros(2, np.int64))
        return Work(self._rows.table, self._tables.lists, asked, values, heaps)

    def _best(self, work: Work) -> None:
        """Find the best by cursors, and by a scan for the events that the cursors leave."""
        tables, subscriptions = self._tables, self._rows.subscriptions
        widest = int(np.diff(work.asked.starts).max(initial=0))
        states = np.empty((widest, len(self._ranker.new_state())), np.int64)
        lasts = np.empty(widest), np.empty(widest, np.int64)
        best_by_cursors(self._ranker.structure, work, Cursors(states, *lasts, np.zeros(subscriptions, np.uint8)))
        left = np.flatnonzero(work.heaps.found == LEFT)
        for place in range(0, len(left), MOST_EVENTS):
            some = left[place : place + MOST_EVENTS]
            if tables.tiles is not None:
                best_by_tiles(tables.tiles, work, some)
                work.heaps.counts[:] += len(some) * np.array([len(self._rows), subscriptions])
            elif tables.field_lists is not None:
                best_by_lists(tables.field_lists, work, some)
            best_one_by_one(work, tables.alone, some)

    def _by_function(self, ranking: Relaxed, asked: EventFields, examined: int) -> Found:
        """With a function of the caller: all dimensions that hold, event by event, in Python."""
        numbers: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        scores: list[NDArray[np.float64]] = [np.empty(0)]
        of_dimensions, weights, verified = self._rows.owners(), self._rows.table.weights, 0
        work = self._work(asked, 1)
        for event in range(len(asked.starts) - 1):
            held = held_dimensions(work, event)
            owners, own_weights = of_dimensions[held], weights[held]
            found, firsts = np.unique(owners, return_index=True)
            parts = np.split(own_weights, firsts[1:]) if len(found) else []
            own = np.array([_combined(ranking, part) for part in parts], np.float64)
            order = np.lexsort((found, -own))[: ranking.k]
            numbers.append(found[order])
            scores.append(own[order])
            verified += len(found)
        starts = starts_of([len(one) for one in numbers[1:]], len(numbers) - 1)
        examined += (len(numbers) - 1) * len(self._rows)
        return Found(starts, np.concatenate(numbers), examined, verified, np.concatenate(scores))


_CACHED: Final = 1 << 20
"""With more dimensions than this, each look-up of one misses the processor's cache."""


_PASSED: Final = 3.0
"""Nanoseconds that a cursor takes for an interval that it examines but does not return."""


def _worth(rows: Rows, has_tiles: bool) -> tuple[int, float, float]:
    """The limits of intervals that cursors may return: `EventFields.most`, `.share` and `.passed`.

    At the limit, finding and scoring the subscriptions takes about as long as a scan. The constants are measured: ns a
    subscription, a dimension, a range of a list, and a sum.
    """
    subscriptions, count = max(rows.subscriptions, 1), len(rows)
    one = 60 + 16 * count / subscriptions + 140 * min(1.0, count / _CACHED)
    if has_tiles:
        return 64 + int((0.3 * subscriptions + 0.25 * count) / one), 0.0, _PASSED / one
    return 64, 1.5 / one, _PASSED / one


def _combined(ranking: Relaxed, weights: NDArray[np.float64]) -> float:
    """A function's score; raises `InvalidInput` unless it is a finite number."""
    assert callable(ranking.combine)
    score = ranking.combine(weights.tolist())
    if isinstance(score, bool) or not isinstance(score, int | float) or not np.isfinite(score):
        raise InvalidInput(f"combine gave {score!r:.60} for {weights.tolist()!r:.80}; it must give a finite number")
    return float(score)


def build_relaxed(
    dimensions: Dimensions,
    ranker: RankerBuilder,
    statistics: Statistics | None = None,
    *,
    is_scan: bool = False,
    most: int | None = None,
    room: int = ROOM,
) -> RelaxedIndex:
    """Build the index over a ranker. With `is_scan`, every dimension is scanned instead.

    Cursors may return `most` intervals for an event before that is done anyway. With as many as there are dimensions,
    only the threshold algorithm is used; with None the index chooses. `room` is as in `RelaxedTables.of`. Cost: O(D log
    D) for D dimensions.
    """
    rows, general = rows_of(dimensions)
    matcher = _general_builder(is_scan, rows).build(general, statistics)
    made = ranker.build(rows.intervals(none=is_scan))
    return RelaxedIndex(rows, made, matcher, most=-1 if is_scan else most, room=room)


def restored_relaxed(
    arrays: Arrays, subscriptions: int, ranker: RankerBuilder, *, is_scan: bool = False
) -> RelaxedIndex:
    """Restore a saved index of that many subscriptions; raises `ValueError` or `KeyError` if it is not sound.

    Cost: an eighth of building it.
    """
    rows = restored_rows(arrays, subscriptions)
    own = {name.removeprefix(GENERAL): array for name, array in arrays.items() if name.startswith(GENERAL)}
    matcher = _general_builder(is_scan, rows).load(own)
    require(len(matcher) == rows.generals, "the general dimensions are too many or too few")
    made = ranker.build(rows.intervals(none=is_scan), None if is_scan else arrays.get(_ARRANGEMENT))
    return RelaxedIndex(rows, made, matcher, most=-1 if is_scan else None)


_ARRANGEMENT: Final = "arrangement"


def _general_builder(is_scan: bool, rows: Rows) -> Builder:
    """The builder of the Matcher for general dimensions; the quickest one if there are none."""
    return Scan if is_scan or not rows.generals else Access
