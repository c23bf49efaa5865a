"""Lays out an OpIndex's lists all at once: count, place, sort, sign.

The lists are those of inserting the subscriptions one by one (Zhang, Chan, Tan 2014, section 4.3, Algorithm 1). The
time is linear, except for sorting each segment.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels.sorting import stable_order
from tocsin.papers.opindex.opindex.kernels.layouts import (
    CLAUSE_BITS,
    CLAUSES,
    OPERATORS,
    WIDTH,
    Entries,
    segment_of,
    signature_bit,
)

FEW: Final = 48
"""Up to this many entries are sorted by insertion."""


class Simples(NamedTuple):
    """Subscriptions of one form under their pivots. R rows, E entries."""

    owners: NDArray[np.int32]  # (R,) the subscription, ascending
    pivots: NDArray[np.int32]  # (R,) a field
    needed: NDArray[np.uint64]  # (R,) predicates to count down, or a bit for each clause
    starts: NDArray[np.int64]  # (R + 1,) row r has entries [starts[r], starts[r + 1])
    operators: NDArray[np.uint8]  # (E,)
    keys: NDArray[np.int64]  # (E,)
    clauses: NDArray[np.uint8]  # (E,) the clause; 0 in a conjunction


class Order(NamedTuple):
    """The order in which the rows of one form are laid out. R rows."""

    rows: NDArray[np.int64]  # (R,) by pivot, then owner
    pivots: NDArray[np.int32]  # (R,) the number of the row's pivot
    places: NDArray[np.int32]  # (R,) its place in the pivot's counter array


class Laid(NamedTuple):
    """The lists that exist, and their segments. P pivots, b segments a list."""

    rows: NDArray[np.int32]  # (WIDTH P,) as in `Directory`
    segments: int  # b


@kernel
def mark_lists(simples: Simples, order: Order, form: int, rows: NDArray[np.int32]) -> None:
    """Set `rows` to 0 for each list that a pivot has."""
    for i in range(len(order.rows)):
        row = order.rows[i]
        first = WIDTH * np.int64(order.pivots[i]) + OPERATORS * form
        for e in range(simples.starts[row], simples.starts[row + 1]):
            rows[first + simples.operators[e]] = 0


@inlined
def _segment(laid: Laid, row: int, key: int) -> int:
    """The segment of a key in a row's list."""
    return np.int64(laid.rows[row]) * laid.segments + np.int64(segment_of(key >> 32, laid.segments))


@kernel
def count_in_segments(simples: Simples, order: Order, form: int, laid: Laid, counts: NDArray[np.int64]) -> None:
    """Add to `counts` the number of entries that each segment gets."""
    for i in range(len(order.rows)):
        row = order.rows[i]
        first = WIDTH * np.int64(order.pivots[i]) + OPERATORS * form
        for e in range(simples.starts[row], simples.starts[row + 1]):
            counts[_segment(laid, first + simples.operators[e], simples.keys[e])] += 1


@kernel
def lay_out(simples: Simples, order: Order, form: int, laid: Laid, places: NDArray[np.int64], out: Entries) -> None:
    """Write the entries of each segment from `places` on, which advance."""
    for i in range(len(order.rows)):
        row = order.rows[i]
        first = WIDTH * np.int64(order.pivots[i]) + OPERATORS * form
        pointer = np.uint64(order.places[i])
        for e in range(simples.starts[row], simples.starts[row + 1]):
            segment = _segment(laid, first + simples.operators[e], simples.keys[e])
            at = places[segment]
            places[segment] = at + 1
            out.keys[at] = simples.keys[e]
            if form == CLAUSES:
                out.pointers[at] = np.uint32(pointer << CLAUSE_BITS | np.uint64(simples.clauses[e]))
            else:
                out.pointers[at] = np.uint32(pointer)


@kernel
def sort_segments(starts: NDArray[np.int64], keys: NDArray[np.int64], pointers: NDArray[np.uint32]) -> None:
    """Sort the entries of each segment by key, stably."""
    for segment in range(len(starts) - 1):
        first, stop = starts[segment], starts[segment + 1]
        if stop - first <= FEW:
            for i in range(first + 1, stop):
                key, pointer = keys[i], pointers[i]
                at = i
                while at > first and keys[at - 1] > key:
                    keys[at], pointers[at] = keys[at - 1], pointers[at - 1]
                    at -= 1
                keys[at], pointers[at] = key, pointer
        else:
            order = stable_order(keys[first:stop])
            before, pointed = keys[first:stop].copy(), pointers[first:stop].copy()
            for i in range(stop - first):
                keys[first + i], pointers[first + i] = before[order[i]], pointed[order[i]]


@kernel
def sign_segments(
    operators: NDArray[np.uint8],
    starts: NDArray[np.int32],
    keys: NDArray[np.int64],
    segments: int,
    bits: int,
    signatures: NDArray[np.uint64],
) -> None:
    """Write the signature of every segment; `operators` has the operator of each list."""
    for number in range(len(operators)):
        for segment in range(number * segments, (number + 1) * segments):
            signatures[segment] = signed(np.int64(operators[number]), keys, starts[segment], starts[segment + 1], bits)


@kernel
def signed(operator: int, keys: NDArray[np.int64], first: int, stop: int, bits: int) -> int:
    """The signature of entries [first, stop); 0 if `bits` is 0."""
    signature = np.uint64(0)
    if bits > 0:
        for i in range(first, stop):
            signature |= np.uint64(1) << signature_bit(operator, keys[i], bits)
    return signature
