"""Insertion into and deletion from the lists of an OpIndex, one subscription at a time.

The expressions to insert are compiled beforehand. So operands, as rank codes, are fixed, and also the frequencies that
determine pivots. Lists change, with their directories and signatures, and counters.

Cost: O(gamma log(eta)) comparisons for an expression of gamma predicates (Lemma 5), plus moving a part of a segment for
each. A deletion costs up to three times that, because the last counter of the pivot takes the freed place.

Paper: Zhang, Chan, Tan 2014, section 4.3, Algorithm 1. Departs: the paper has no deletion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.opindex.kernels import FIRST_ROOM, LISTS, NEEDS, PIVOTS, Form, Lists, Runs, delete_all, insert_all
from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import DuplicateSubscription, UnknownSubscription
from tocsin.index.alive import everyone
from tocsin.index.found import Found
from tocsin.index.statistics import Statistics
from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, check_options
from tocsin.papers.opindex.opindex.kernels.building import Simples
from tocsin.papers.opindex.opindex.kernels.layouts import WIDTH, Counters, Directory, Entries, OpLists
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
        self._is_held = np.zeros(len(compiled), bool)
        self._needed = np.zeros(NEEDS, np.int64)
        self._lists = Lists(
            pivots=np.full(len(self._rewriting.fields.kinds), -1, np.int32),
            rows=np.empty(0, np.int32),
            signatures=np.empty(0, np.uint64),
            counts=np.zeros(2, np.int64),
            options=np.array([segments, signature_bits]),
            entries=_no_runs(),
            counted=_form(self._rewriting.counted, len(compiled)),
            clauses=_form(self._rewriting.clauses, len(compiled)),
        )

    def __len__(self) -> int:
        """The number of subscriptions held."""
        return int(self._is_held.sum())

    def insert(self, number: int) -> None:
        """Insert one of the expressions, by its number. Raises `DuplicateSubscription` if it is held already."""
        self.insert_many([number])

    def insert_many(self, numbers: Sequence[int] | NDArray[np.int64]) -> None:
        """Insert some of the expressions, in this order. A failure to get memory leaves out the later ones."""
        own = self._compiled_ones(numbers)
        first = np.zeros(len(own), bool)
        first[np.unique(own, return_index=True)[1]] = True
        again = own[~first | self._is_held[own]]
        if len(again):
            raise DuplicateSubscription(f"subscription {again[0]} is there already; delete it first")
        done = 0
        while done < len(own):
            before, done = done, insert_all(self._lists, own, done, self._needed)
            self._is_held[own[before:done]] = True
            if done < len(own):
                self._lists = _with_room(self._lists, self._needed)

    def delete(self, number: int) -> None:
        """Delete an inserted expression. Raises `UnknownSubscription` if it is not held."""
        self.delete_many([number])

    def delete_many(self, numbers: Sequence[int] | NDArray[np.int64]) -> None:
        """Delete some inserted expressions."""
        own = np.unique(self._compiled_ones(numbers))
        missing = own[~self._is_held[own]]
        if len(missing):
            raise UnknownSubscription(f"no subscription {missing[0]} is here; {len(self):,} are")
        delete_all(self._lists, own)
        self._is_held[own] = False

    def match(self, batch: EventBatch) -> Found:
        """All matches of a batch among those held, like `OpIndex.match`. Cost: that of `packed` is added."""
        matching = Matching(self._compiled, self.packed(), *self._options)
        return matching.match(batch, self._binder.bind(batch), everyone(len(self._compiled)))

    def packed(self) -> OpLists:
        """A copy without gaps. It equals a new build if nothing was deleted and numbers were inserted in order."""
        lists, segments = self._lists, self._options[0]
        lengths = sum(_lengths(form.counters) for form in (lists.counted, lists.clauses))
        fields = np.flatnonzero(lists.pivots >= 0)
        fields = fields[np.asarray(lengths)[lists.pivots[fields]] > 0]
        chosen = lists.pivots[fields].astype(np.int64)
        pivots = np.full(len(lists.pivots), -1, np.int32)
        pivots[fields] = np.arange(len(fields))
        rows = lists.rows.reshape(-1, WIDTH)[chosen].reshape(-1).copy()
        sizes = _lengths(lists.entries)[: len(lists.entries.starts) // segments * segments].reshape(-1, segments)
        kept = rows >= 0
        kept[kept] = sizes.sum(axis=1)[rows[kept]] > 0
        runs = (rows[kept].astype(np.int64)[:, None] * segments + np.arange(segments)).reshape(-1)
        rows[:] = -1
        rows[kept] = np.arange(kept.sum())
        starts, keys, pointers = _packed(lists.entries, runs)
        directory = frozen_table(Directory(pivots, rows, starts, lists.signatures[runs]))
        counters = [_counters(lists.counted, chosen, np.int32), _counters(lists.clauses, chosen, np.uint64)]
        return OpLists(*self._rewriting[:2], directory, Entries(keys, pointers), *counters)

    def _compiled_ones(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers as an array; raises `UnknownSubscription` for one that was not compiled."""
        own, count = np.array(numbers, np.int64), len(self._is_held)
        unknown = own[(own < 0) | (own >= count)]
        if len(unknown):
            raise UnknownSubscription(f"no expression {unknown[0]} was compiled; there are {count:,}, from 0 on")
        return own


def _form(simples: Simples, subscriptions: int) -> Form:
    """The subscriptions of a form, none of them inserted."""
    firsts = np.searchsorted(simples.owners, np.arange(subscriptions + 1))
    return Form(simples, firsts, _no_runs(), np.zeros(len(simples.owners), np.int64))


def _no_runs() -> Runs:
    starts, stops, rooms, keys = (np.zeros(0, np.int64) for _ in range(4))
    return Runs(starts, stops, rooms, keys, np.zeros(0, np.uint32), np.zeros(1, np.int64))


def _with_room(lists: Lists, needed: NDArray[np.int64]) -> Lists:
    """The lists with more room; arrays at least double. Copies all before anything is replaced."""
    pivots, count = (lists.counts + needed[[PIVOTS, LISTS]]).tolist()
    segments = int(lists.options[0]) * count
    entries, counted, clauses = needed[LISTS + 1 :].tolist()
    return lists._replace(
        rows=_grown(lists.rows, WIDTH * pivots, -1),
        signatures=_grown(lists.signatures, segments),
        entries=_grown_runs(lists.entries, segments, entries),
        counted=lists.counted._replace(counters=_grown_runs(lists.counted.counters, pivots, counted)),
        clauses=lists.clauses._replace(counters=_grown_runs(lists.clauses.counters, pivots, clauses)),
    )


def _grown_runs(runs: Runs, count: int, rows: int) -> Runs:
    """Room for so many runs, and so many more rows."""
    starts, stops, rooms = (_grown(column, count) for column in (runs.starts, runs.stops, runs.rooms))
    size = int(runs.used[0]) + rows
    return Runs(starts, stops, rooms, _grown(runs.keys, size), _grown(runs.pointers, size), runs.used)


def _grown(array: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    """A longer copy of an array, if it is shorter than a size."""
    if size <= len(array):
        return array
    larger = np.full(max(size, 2 * len(array), FIRST_ROOM), fill, array.dtype)
    larger[: len(array)] = array
    return larger


def _lengths(runs: Runs) -> NDArray[np.int64]:
    return runs.stops - runs.starts


def _packed(runs: Runs, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32]]:
    """Offsets, keys and pointers of the chosen runs, one after the other."""
    lengths = _lengths(runs)[chosen]
    starts = starts_of(lengths, len(chosen))
    at = np.repeat(runs.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    return frozen(starts, np.int32), frozen(runs.keys[at], np.int64), frozen(runs.pointers[at], np.uint32)


def _counters(form: Form, chosen: NDArray[np.int64], kind: type) -> Counters:
    """The counter arrays of some pivots."""
    starts, keys, rows = _packed(form.counters, chosen)
    return Counters(starts, frozen(keys.view(np.uint64), kind), frozen(form.simples.owners[rows], np.int32))
