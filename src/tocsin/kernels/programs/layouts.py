"""Layouts of the tables that kernels read: a batch, its strings, and compiled expressions.

All arrays are C-contiguous and read-only, so arrays in memory and memory-mapped ones share one compiled kernel.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined
from tocsin.jit.views import kind_of, view_of

ALWAYS = np.int64(2**62)
"""The stamp of leaves that are computed ahead of every block."""


class Events(NamedTuple):
    """A batch of events in CSR form. E events, N entries, A attributes, L lists with M elements, B boxes, R ranges."""

    starts: NDArray[np.int64]  # (E + 1,) entries[starts[e]:starts[e + 1]] belong to event e
    attributes: NDArray[np.int32]  # (N,) the attribute's number in the batch
    types: NDArray[np.uint8]  # (N,) NUMBER .. SHAPE, or RANGED + NUMBER or INSTANT
    payloads: NDArray[np.int64]  # (N,)
    list_starts: NDArray[np.int64]  # (L + 1,)
    list_types: NDArray[np.uint8]  # (M,) a list's elements, each once, sorted by (type, payload)
    list_payloads: NDArray[np.int64]  # (M,)
    list_boxes: NDArray[np.int32]  # (L,) the box if the list is one of 2 or 4 numbers, else -1
    boxes: Annotated[NDArray[np.float64], 2]  # (B, 4) xmin, ymin, xmax, ymax
    ranges: Annotated[
        NDArray[np.int64], 2
    ]  # (R, 2) payloads; an interval [low, high] meets the range if low <= first and second <= high


class Bound(NamedTuple):
    """A batch's attributes and strings, mapped to those of a set of expressions.

    A attributes, U strings and G shapes in the batch, T transforms (0: none), Q LIKE patterns.
    """

    attributes: NDArray[np.int32]  # (A,) number among the expressions' attributes, or -1
    ranks: Annotated[
        NDArray[np.int32], 2
    ]  # (T, U) rank code among the operands: 2r + 1 is operand r, 2r lies just before it
    orders: Annotated[NDArray[np.int32], 2]  # (T, U) place among all strings of the batch, transformed ones included
    text_starts: NDArray[np.int64]  # (T * U + 1,) the UTF-8 of transform t of string u is text t * U + u
    text_bytes: NDArray[np.uint8]
    fit_starts: NDArray[np.int64]  # (T * U + 1,) the patterns that text t * U + u fits, ascending
    fits: NDArray[np.int32]  # 2 p for LIKE pattern p, 2 r + 1 for regular expression r
    listed: NDArray[np.uint8]  # (Q,) 1 for each LIKE pattern that `fits` covers
    meet_starts: NDArray[np.int64]  # (G + 1,) the boxes of the expressions that the batch's shape g meets, ascending
    meets: NDArray[np.int32]


class Expressions(NamedTuple):
    """Compiled expressions. A attributes, C sets, F leaves, P places of program,
    Q patterns, S subscriptions, X terms, Y truth programs."""

    program_starts: NDArray[np.int64]  # (S + 1,)
    program: NDArray[np.int32]  # (P,) leaf * 2 + negated, or OPEN_AND / OPEN_OR and the number of places that it spans
    eager_starts: NDArray[
        np.int64
    ]  # (A + 1,) leaves [eager_starts[a], eager_starts[a + 1]) are attribute a's eager ones
    leaf_kinds: NDArray[np.uint8]  # (F,) each distinct predicate once; the eager ones first, by attribute
    leaf_types: NDArray[np.uint8]  # (F,)
    leaf_operations: NDArray[np.uint8]  # (F,)
    leaf_transforms: NDArray[np.uint16]  # (F,)
    leaf_attributes: NDArray[np.int32]  # (F,)
    leaf_others: NDArray[np.int32]  # (F,)
    leaf_lows: NDArray[np.int64]  # (F,)
    leaf_highs: NDArray[np.int64]  # (F,)
    set_starts: NDArray[np.int64]  # (C + 1,)
    set_types: NDArray[np.uint8]  # elements sorted by (type, payload); strings as rank codes
    set_payloads: NDArray[np.int64]
    pattern_starts: NDArray[np.int64]  # (Q + 1,)
    pattern_tokens: NDArray[np.int16]  # a byte, ANY_RUN or ANY_ONE
    boxes: Annotated[NDArray[np.float64], 2]  # (., 4)
    term_starts: NDArray[np.int64]  # (X + 1,)
    term_codes: NDArray[np.uint8]
    term_arguments: NDArray[np.int32]
    term_transforms: NDArray[np.uint16]
    constants: NDArray[np.float64]
    truth_starts: NDArray[np.int64]  # (Y + 1,)
    truth_codes: NDArray[np.uint8]
    truth_arguments: NDArray[np.int32]


EXPRESSIONS: Final = kind_of(Expressions)


class Block(NamedTuple):
    """Up to 64 events, transposed: the entries of each attribute side by side. A attributes, W room for entries."""

    firsts: NDArray[np.int32]  # (A,) entries[firsts[a]:stops[a]] are attribute a's, by lane; 0, 0 if it has none
    stops: NDArray[np.int32]  # (A,)
    touched: NDArray[np.int32]  # (min(A, W),) the attributes with entries
    lanes: NDArray[np.uint8]  # (W,) the event's place in the block
    types: NDArray[np.uint8]  # (W,)
    payloads: NDArray[np.int64]  # (W,)


class Memo(NamedTuple):
    """Masks and stamps of a block's leaves, and evaluation stacks. F leaves."""

    masks: NDArray[np.uint64]  # (2 F,) lanes where leaf f is TRUE at 2 f, where it is FALSE at 2 f + 1
    stamps: NDArray[np.int64]  # (F,) the block that a leaf was last computed for; ALWAYS for an eager one
    levels: Annotated[NDArray[np.int64], 2]  # (STACK, 4) a program's open levels
    truths: Annotated[NDArray[np.uint64], 2]  # (STACK, 2) a truth program's values
    numbers: Annotated[NDArray[np.float64], 2]  # (STACK, 64) a term's values by lane
    moments: Annotated[NDArray[np.int64], 2]  # (STACK, 64) the same where they are instants, in microseconds
    known: NDArray[np.uint64]  # (STACK,) the lanes where they are not null
    dated: NDArray[np.uint64]  # (STACK,) the lanes, among these, where they are instants
    term_types: Annotated[NDArray[np.uint8], 2]  # (2, 64) the values of the two sides of a comparison
    term_keys: Annotated[NDArray[np.int64], 2]  # (2, 64)


class Verifier(NamedTuple):
    """The memory for walking programs. `clock[0]` grows with every block, so that old masks are never used."""

    block: Block
    memo: Memo
    clock: NDArray[np.int64]  # (1,)
    parts: NDArray[np.int64]  # `parts.PARTS`


VERIFIER: Final = kind_of(Verifier)


class Walk(NamedTuple):
    """Views of all that evaluating leaves on a block reads and writes."""

    leaves: Expressions
    block: Block
    memo: Memo
    events: Events
    bound: Bound
    parts: NDArray[np.int64]  # `parts.PARTS`


WALK: Final = view_of(Walk, *map(view_of, (Expressions, Block, Memo, Events, Bound)), numba.types.int64[::1])


@inlined
def next_place(program: NDArray[np.int32], place: int) -> int:
    """The place behind a literal, or behind the whole group that a mark opens."""
    return place + 1 if program[place] >= 0 else place + 2 + program[place + 1]
