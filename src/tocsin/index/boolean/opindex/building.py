"""How do rewritten subscriptions become lists, all at once?

Paper: Zhang, Chan, Tan 2014, section 4.3. `changes` inserts one at a time, and gives the same lists.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.index.boolean.opindex.kernels import building as kernels
from tocsin.index.boolean.opindex.kernels.building import Order, Simples
from tocsin.index.boolean.opindex.kernels.layouts import (
    CLAUSES,
    COUNTED,
    OPERATORS,
    WIDTH,
    Counters,
    Directory,
    Entries,
    OpLists,
)
from tocsin.index.boolean.opindex.rewriting import Rewriting


def build_lists(rewriting: Rewriting, segments: int, signature_bits: int) -> OpLists:
    """The lists of all subscriptions. Cost: linear in predicates, but for the sorting of each segment."""
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
    counts = np.zeros(len(present) * segments, np.int64)
    for simples, order, form in parts:
        kernels.count_in_segments(simples, order, form, rows, segments, counts)
    starts = starts_of(counts, len(counts))
    entries = Entries(np.empty(starts[-1], np.int64), np.empty(starts[-1], np.uint32))
    places = starts[:-1].copy()
    for simples, order, form in parts:
        kernels.lay_out(simples, order, form, rows, segments, places, entries)
    kernels.sort_segments(starts, *entries)
    return OpLists(
        rewriting.fields,
        rewriting.prefixes,
        make_directory(pivots, rows, frozen(starts, np.int32), entries, segments, signature_bits),
        frozen_table(entries),
        _counters(parts[0][:2], parts[1][:2], len(chosen)),
    )


def list_operators(rows: NDArray[np.int32]) -> NDArray[np.uint8]:
    """(L,) the operator of each list, whose numbers ascend in `rows`."""
    return frozen(np.flatnonzero(rows >= 0) % OPERATORS, np.uint8)


def make_directory(
    pivots: NDArray[np.int32],
    rows: NDArray[np.int32],
    starts: NDArray[np.int32],
    entries: Entries,
    segments: int,
    signature_bits: int,
) -> Directory:
    """The directory of lists that lie one after the other, segment by segment; `starts` says where, (b L + 1,)."""
    signatures = np.empty(len(starts) - 1, np.uint64)
    first, behind = starts[:-1], starts[1:]
    kernels.sign_segments(list_operators(rows), first, behind, entries.keys, segments, signature_bits, signatures)
    return Directory(frozen(pivots, np.int32), frozen(rows, np.int32), first, behind, frozen(signatures, np.uint64))


def _ordered(simples: Simples, pivots: NDArray[np.int32]) -> Order:
    """Rows by pivot, then owner."""
    numbers = pivots[simples.pivots]
    rows = np.argsort(numbers, kind="stable")
    ordered = numbers[rows]
    places = np.arange(len(rows)) - np.searchsorted(ordered, ordered)
    return Order(rows, ordered, places.astype(np.int32))


def _counters(counted: tuple[Simples, Order], clauses: tuple[Simples, Order], pivots: int) -> Counters:
    """The counter arrays, pivot by pivot."""
    columns: list[NDArray[np.generic]] = []
    for (simples, order), kind in ((counted, np.int32), (clauses, np.uint64)):
        starts = frozen(starts_of(np.bincount(order.pivots, minlength=pivots), pivots), np.int32)
        needed = frozen(simples.needed[order.rows], kind)
        columns += [starts[:-1], starts[1:], needed, frozen(simples.owners[order.rows], np.int32)]
    return Counters(*columns)  # type: ignore[arg-type]
