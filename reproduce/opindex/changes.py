"""Insertion into and deletion from the lists of an OpIndex, one subscription at a time.

The expressions to insert are compiled beforehand. So operands, as rank codes, are fixed, and also the frequencies that
determine pivots. Lists change, with their directories and signatures, and counters.

Cost: O(gamma log(eta)) comparisons for an expression of gamma predicates (Lemma 5), plus moving a part of a segment for
each. A deletion costs up to three times that, because the last counter of the pivot takes the freed place.

Paper: Zhang, Chan, Tan 2014, section 4.3, Algorithm 1. Departs: the paper has no deletion.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproduce.opindex.runs import Runs, grown
from tocsin.columns.arrays import frozen_table
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import DuplicateSubscription, UnknownSubscription
from tocsin.index.alive import everyone
from tocsin.index.found import Found
from tocsin.index.statistics import Statistics
from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, check_options
from tocsin.papers.opindex.opindex.kernels.building import Simples, signed
from tocsin.papers.opindex.opindex.kernels.layouts import (
    CLAUSE_BITS,
    CLAUSES,
    FORMS,
    OPERATORS,
    WIDTH,
    Counters,
    Directory,
    Entries,
    OpLists,
    segment_of,
    signature_bit,
)
from tocsin.papers.opindex.opindex.matching import Matching
from tocsin.papers.opindex.opindex.rewriting import rewrite


class OpIndexLists:
    """The lists of an OpIndex, empty at first, for some compiled expressions. Not thread-safe."""

    def __init__(
        self,
        compiled: CompiledExpressions,
        statistics: Statistics | None = None,
        segments: int = SEGMENTS,
        signature_bits: int = SIGNATURE_BITS,
    ) -> None:
        """Raises the errors of `OpIndexBuilder.build`, for any of the expressions."""
        check_options(segments, signature_bits)
        self._options = segments, signature_bits
        self._rewriting = rewrite(compiled, statistics)
        self._binder = Binder(compiled)
        self._compiled = compiled
        self._count = len(compiled)
        self._held: set[int] = set()
        self._pivots = np.full(len(self._rewriting.fields.kinds), -1, np.int32)
        self._rows = np.full(0, -1, np.int32)
        self._signatures = np.zeros(0, np.uint64)
        self._lists = 0
        self._entries = Runs(np.int64, np.uint32)
        self._counters = Runs(np.int32, np.int32), Runs(np.uint64, np.int32)
        self._rows_by_place: tuple[list[list[int]], ...] = tuple([] for _ in range(FORMS))  # by pivot
        self._places: tuple[dict[int, int], ...] = tuple({} for _ in range(FORMS))  # the place of each row

    def __len__(self) -> int:
        """The number of subscriptions held."""
        return len(self._held)

    def insert(self, number: int) -> None:
        """Insert one of the expressions, by its number. Raises `DuplicateSubscription` if it is held already."""
        self._require(number)
        if number in self._held:
            raise DuplicateSubscription(f"subscription {number} is there already; delete it first")
        self._held.add(number)
        for form, row in self._rows_of(number):
            self._insert_row(form, row)

    def delete(self, number: int) -> None:
        """Delete an inserted expression. Raises `UnknownSubscription` if it is not held."""
        if number not in self._held:
            raise UnknownSubscription(f"no subscription {number} is here; {len(self._held):,} are")
        self._held.remove(number)
        for form, row in self._rows_of(number):
            self._delete_row(form, row)

    def match(self, batch: EventBatch) -> Found:
        """All matches of a batch among those held, like `OpIndex.match`. Cost: that of `packed` is added."""
        matching = Matching(self._compiled, self.packed(), *self._options)
        return matching.match(batch, self._binder.bind(batch), everyone(self._count))

    def packed(self) -> OpLists:
        """A copy without gaps. It equals a new build if nothing was deleted and numbers were inserted in order."""
        segments = self._options[0]
        fields = [f for f in np.flatnonzero(self._pivots >= 0).tolist() if self._holds_any(self._pivots[f])]
        chosen = self._pivots[fields].astype(np.int64)
        pivots = np.full(len(self._pivots), -1, np.int32)
        pivots[fields] = np.arange(len(fields))
        rows = self._rows.reshape(-1, WIDTH)[chosen].reshape(-1).copy()
        kept = np.array([number >= 0 and self._entries_in(number) > 0 for number in rows.tolist()], bool)
        runs = rows[kept].astype(np.int64)[:, None] * segments + np.arange(segments)
        rows[:] = -1
        rows[kept] = np.arange(kept.sum())
        starts, *columns = self._entries.packed(runs.reshape(-1))
        directory = frozen_table(Directory(pivots, rows, starts, self._signatures[runs.reshape(-1)]))
        counters = [Counters(*own.packed(chosen)) for own in self._counters]
        return OpLists(*self._rewriting[:2], directory, Entries(*columns), *counters)

    def _holds_any(self, pivot: int) -> bool:
        return any(self._rows_by_place[form][pivot] for form in range(FORMS))

    def _entries_in(self, number: int) -> int:
        first, stop = number * self._options[0], (number + 1) * self._options[0]
        return int((self._entries.stops[first:stop] - self._entries.starts[first:stop]).sum())

    def _require(self, number: int) -> None:
        if not 0 <= number < self._count:
            raise UnknownSubscription(f"no expression {number} was compiled; there are {self._count:,}, from 0 on")

    def _simples(self, form: int) -> Simples:
        return self._rewriting.clauses if form == CLAUSES else self._rewriting.counted

    def _rows_of(self, number: int) -> Iterator[tuple[int, int]]:
        """The form and row of each of its simple subscriptions."""
        for form in range(FORMS):
            first, stop = np.searchsorted(self._simples(form).owners, (number, number + 1)).tolist()
            for row in range(first, stop):
                yield form, row

    def _insert_row(self, form: int, row: int) -> None:
        """Algorithm 1: the pivot, its counter, then each predicate."""
        simples = self._simples(form)
        pivot = self._pivot_of(int(simples.pivots[row]))
        own_rows = self._rows_by_place[form][pivot]
        place = len(own_rows)
        own_rows.append(row)
        self._places[form][row] = place
        self._counters[form].insert(pivot, place, simples.needed[row], simples.owners[row])
        self._insert_entries(form, row, pivot, place)

    def _delete_row(self, form: int, row: int) -> None:
        """Remove its predicates, and move the last counter of the pivot to the place of its counter."""
        simples = self._simples(form)
        pivot = int(self._pivots[simples.pivots[row]])
        own_rows, counters = self._rows_by_place[form][pivot], self._counters[form]
        place = self._places[form].pop(row)
        self._delete_entries(form, row, pivot, place)
        moved = own_rows.pop()
        counters.remove(pivot, len(own_rows))
        if moved == row:
            return
        self._delete_entries(form, moved, pivot, len(own_rows))
        own_rows[place] = moved
        self._places[form][moved] = place
        needed, owners = counters.slices(pivot)
        needed[place], owners[place] = simples.needed[moved], simples.owners[moved]
        self._insert_entries(form, moved, pivot, place)

    def _pivot_of(self, field: int) -> int:
        """The number of a pivot, which is created if missing."""
        if self._pivots[field] < 0:
            pivot = len(self._rows_by_place[0])
            self._pivots[field] = pivot
            if WIDTH * (pivot + 1) > len(self._rows):
                self._rows = grown(self._rows, WIDTH * max(pivot + 1, 2 * pivot), -1)
            for form in range(FORMS):
                self._rows_by_place[form].append([])
                self._counters[form].reach(pivot + 1)
        return int(self._pivots[field])

    def _insert_entries(self, form: int, row: int, pivot: int, place: int) -> None:
        bits = self._options[1]
        for operator, key, pointer in self._predicates(form, row, place):
            segment = self._segment(pivot, form, operator, key)
            self._entries.insert(segment, self._find(segment, key, pointer), key, pointer)
            if bits:
                self._signatures[segment] |= np.uint64(1 << int(signature_bit(operator, key, bits)))

    def _delete_entries(self, form: int, row: int, pivot: int, place: int) -> None:
        for operator, key, pointer in self._predicates(form, row, place):
            segment = self._segment(pivot, form, operator, key)
            self._entries.remove(segment, self._find(segment, key, pointer))
            first, stop = self._entries.starts[segment], self._entries.stops[segment]
            self._signatures[segment] = signed(operator, self._entries.columns[0], first, stop, self._options[1])

    def _predicates(self, form: int, row: int, place: int) -> Iterator[tuple[int, int, int]]:
        """Operator, key and pointer of each predicate of a row with a counter at `place`."""
        simples = self._simples(form)
        for e in range(simples.starts[row], simples.starts[row + 1]):
            pointer = place << int(CLAUSE_BITS) | int(simples.clauses[e]) if form == CLAUSES else place
            yield int(simples.operators[e]), int(simples.keys[e]), pointer

    def _segment(self, pivot: int, form: int, operator: int, key: int) -> int:
        """The segment of a predicate; its list is created if missing."""
        segments = self._options[0]
        at = WIDTH * pivot + OPERATORS * form + operator
        if self._rows[at] < 0:
            self._rows[at] = self._lists
            self._lists += 1
            self._entries.reach(self._lists * segments)
            if len(self._signatures) < len(self._entries.starts):
                self._signatures = grown(self._signatures, len(self._entries.starts))
        return int(self._rows[at]) * segments + int(segment_of(key >> 32, segments))

    def _find(self, segment: int, key: int, pointer: int) -> int:
        """The place of the first row of a segment that is not below a key and pointer."""
        keys, pointers = self._entries.slices(segment)
        first, stop = np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right")
        return int(first + np.searchsorted(pointers[first:stop], np.uint32(pointer)))
