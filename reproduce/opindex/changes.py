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

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import DuplicateSubscription, UnknownSubscription
from tocsin.index.alive import everyone
from tocsin.index.found import Found
from tocsin.index.statistics import Statistics
from tocsin.papers.opindex.opindex.changing import ChangingLists
from tocsin.papers.opindex.opindex.index import SEGMENTS, SIGNATURE_BITS, check_options
from tocsin.papers.opindex.opindex.kernels.changing import Form, Runs
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
        forms = frozen_table(self._rewriting.counted), frozen_table(self._rewriting.clauses)
        numbers = np.arange(len(compiled) + 1)
        firsts = [frozen(np.searchsorted(simples.owners, numbers), np.int64) for simples in forms]
        self._lists = ChangingLists(segments, signature_bits, *forms)
        self._lists.provide(len(self._rewriting.fields.kinds), list(zip(forms, firsts, strict=True)))

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
            before, done = done, self._lists.insert(own, done)
            self._is_held[own[before:done]] = True
            if done < len(own):
                self._lists.make_room()

    def delete(self, number: int) -> None:
        """Delete an inserted expression. Raises `UnknownSubscription` if it is not held."""
        self.delete_many([number])

    def delete_many(self, numbers: Sequence[int] | NDArray[np.int64]) -> None:
        """Delete some inserted expressions."""
        own = np.unique(self._compiled_ones(numbers))
        missing = own[~self._is_held[own]]
        if len(missing):
            raise UnknownSubscription(f"no subscription {missing[0]} is here; {len(self):,} are")
        self._lists.delete(own)
        self._is_held[own] = False

    def match(self, batch: EventBatch) -> Found:
        """All matches of a batch among those held, like `OpIndex.match`. Cost: that of `packed` is added."""
        matching = Matching(self._compiled, self.packed(), *self._options)
        return matching.match(batch, self._binder.bind(batch), everyone(len(self._compiled)))

    def packed(self) -> OpLists:
        """A copy without gaps. It equals a new build if nothing was deleted and numbers were inserted in order."""
        lists, segments = self._lists.now, self._options[0]
        lengths = _lengths(lists.counted.runs) + _lengths(lists.clauses.runs)
        fields = np.flatnonzero(lists.pivots >= 0)
        fields = fields[lengths[lists.pivots[fields]] > 0]
        chosen = lists.pivots[fields].astype(np.int64)
        pivots = np.full(len(lists.pivots), -1, np.int32)
        pivots[fields] = np.arange(len(fields))
        rows = lists.rows.reshape(-1, WIDTH)[chosen].reshape(-1).copy()
        sizes = _lengths(lists.runs)[: len(lists.runs.starts) // segments * segments].reshape(-1, segments)
        kept = rows >= 0
        kept[kept] = sizes.sum(axis=1)[rows[kept]] > 0
        runs = (rows[kept].astype(np.int64)[:, None] * segments + np.arange(segments)).reshape(-1)
        rows[:] = -1
        rows[kept] = np.arange(kept.sum())
        starts, keys, pointers = _packed(lists.runs, runs, lists.keys, lists.pointers)
        directory = frozen_table(Directory(pivots, rows, starts, starts[1:], lists.signatures[runs]))
        return OpLists(
            *self._rewriting[:2],
            directory,
            Entries(keys, pointers),
            _counters(lists.counted, chosen),
            _counters(lists.clauses, chosen),
        )

    def _compiled_ones(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers as an array; raises `UnknownSubscription` for one that was not compiled."""
        own, count = np.array(numbers, np.int64), len(self._is_held)
        unknown = own[(own < 0) | (own >= count)]
        if len(unknown):
            raise UnknownSubscription(f"no expression {unknown[0]} was compiled; there are {count:,}, from 0 on")
        return own


def _lengths(runs: Runs) -> NDArray[np.int64]:
    return (runs.stops - runs.starts).astype(np.int64)


def _packed(runs: Runs, chosen: NDArray[np.int64], *columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Offsets and columns of the chosen runs, one after the other."""
    lengths = _lengths(runs)[chosen]
    starts = starts_of(lengths, len(chosen))
    at = np.repeat(runs.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    return [frozen(starts, np.int32), *(frozen(column[at], column.dtype) for column in columns)]


def _counters(form: Form, chosen: NDArray[np.int64]) -> Counters:
    """The counter arrays of some pivots."""
    starts, needed, owners = _packed(form.runs, chosen, form.needed, form.owners)
    return Counters(starts, starts[1:], needed, owners)
