"""Builds the lists of an OpIndex from rewritten subscriptions, all at once.

Paper: Zhang, Chan, Tan 2014, section 4.3. Its Algorithm 1 inserts one at a time, with the same lists as the result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.papers.opindex.opindex.kernels import building as kernels
from tocsin.papers.opindex.opindex.kernels.building import Order, Simples
from tocsin.papers.opindex.opindex.kernels.layouts import (
    CLAUSES,
    COUNTED,
    OPERATORS,
    WIDTH,
    Counters,
    Directory,
    Entries,
    OpLists,
)
from tocsin.papers.opindex.opindex.rewriting import Rewriting


def build_lists(rewriting: Rewriting, segments: int, signature_bits: int) -> OpLists:
    """The lists of all subscriptions. Cost: linear in predicates, except for sorting each segment."""
    counted, clauses = rewriting.counted, rewriting.clauses
    chosen = np.unique(np.concatenate([counted.pivots, clauses.pivots]))
    pivots = np.full(len(rewriting.fields.kinds), -1, np.int32)
    pivots[chosen] = np.arange(len(chosen))
    parts = [(counted, _ordered(counted, pivots), COUNTED), (clauses, _ordered(clauses, pivots), CLAUSES)]
    rows = np.full(WIDTH * len(chosen), -1, np.int32)
    for simples, order, form in parts:
        kernels.mark_lists(simples, order, form, rows)
    present = np.flatnonzero(rows == 0)
    rows[present] = np.arange(len(present))
    laid = kernels.Laid(rows, segments)
    counts = np.zeros(len(present) * segments, np.int64)
    for simples, order, form in parts:
        kernels.count_in_segments(simples, order, form, laid, counts)
    starts = starts_of(counts, len(counts))
    entries = Entries(np.empty(starts[-1], np.int64), np.empty(starts[-1], np.uint32))
    places = starts[:-1].copy()
    for simples, order, form in parts:
        kernels.lay_out(simples, order, form, laid, places, entries)
    kernels.sort_segments(starts, *entries)
    segment_starts, signatures = frozen(starts, np.int32), np.empty(len(counts), np.uint64)
    operators = frozen(present % OPERATORS, np.uint8)
    kernels.sign_segments(operators, segment_starts, entries.keys, segments, signature_bits, signatures)
    return OpLists(
        fields=rewriting.fields,
        prefixes=rewriting.prefixes,
        directory=frozen_table(Directory(pivots, rows, segment_starts, segment_starts[1:], signatures)),
        entries=frozen_table(entries),
        counted=_counters(*parts[0][:2], len(chosen), np.int32),
        clauses=_counters(*parts[1][:2], len(chosen), np.uint64),
    )


def _ordered(simples: Simples, pivots: NDArray[np.int32]) -> Order:
    """Rows by pivot, then owner."""
    numbers = pivots[simples.pivots]
    rows = np.argsort(numbers, kind="stable")
    ordered = numbers[rows]
    places = np.arange(len(rows)) - np.searchsorted(ordered, ordered)
    return Order(rows, ordered, places.astype(np.int32))


def _counters(simples: Simples, order: Order, pivots: int, kind: DTypeLike) -> Counters:
    """The counter arrays of a form, pivot by pivot."""
    starts = starts_of(np.bincount(order.pivots, minlength=pivots), pivots)
    needed, owners = simples.needed[order.rows], simples.owners[order.rows]
    first = frozen(starts, np.int32)
    return Counters(first, first[1:], frozen(needed, kind), frozen(owners, np.int32))
