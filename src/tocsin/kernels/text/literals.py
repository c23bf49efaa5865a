"""Literals of LIKE patterns: the longest literal piece that a text must contain to fit, with its anchors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel
from tocsin.jit.views import viewed
from tocsin.kernels.codes import ANY_RUN
from tocsin.kernels.sorting import sort_numbers
from tocsin.kernels.text.automaton import BEGIN, END, Automaton, find_literals
from tocsin.kernels.text.strings import is_like


@kernel
def longest_piece(tokens: NDArray[np.int16], first: int, last: int) -> tuple[int, int]:
    """The longest run of bytes among tokens[first:last]. At an end of the pattern, its anchor counts as one more."""
    best_start, best_stop, most = first, first, 0
    at = first
    while at < last:
        if tokens[at] >= ANY_RUN:
            at += 1
            continue
        stop = at
        while stop < last and tokens[stop] < ANY_RUN:
            stop += 1
        length = stop - at + np.int64(at == first) + np.int64(stop == last)
        if length > most:
            best_start, best_stop, most = at, stop, length
        at = stop
    return best_start, best_stop


@kernel
def has_piece(tokens: NDArray[np.int16], first: int, last: int) -> bool:
    """Whether a pattern contains any byte."""
    for at in range(first, last):
        if tokens[at] < ANY_RUN:
            return True
    return False


@kernel
def is_whole(tokens: NDArray[np.int16], first: int, last: int, start: int, stop: int) -> bool:
    """Whether containing the piece [start, stop), anchored at the ends, is enough for a text to fit."""
    for at in range(first, last):
        if (at < start or at >= stop) and tokens[at] != ANY_RUN:
            return False
    return True


@kernel
def write_pieces(
    starts: NDArray[np.int64], tokens: NDArray[np.int16]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
    """The anchored literal of each pattern in CSR form, empty for none; and 1 if containing it is enough to fit."""
    count = len(starts) - 1
    out_starts = np.zeros(count + 1, np.int64)
    out = np.empty(len(tokens) + 2 * count, np.uint8)
    whole = np.zeros(count, np.uint8)
    to = 0
    for pattern in range(count):
        first, last = starts[pattern], starts[pattern + 1]
        start, stop = longest_piece(tokens, first, last)
        if start < stop:
            if start == first:
                out[to] = BEGIN
                to += 1
            for at in range(start, stop):
                out[to] = tokens[at]
                to += 1
            if stop == last:
                out[to] = END
                to += 1
            whole[pattern] = is_whole(tokens, first, last, start, stop)
        out_starts[pattern + 1] = to
    return out_starts, out[:to].copy(), whole


class Literals(NamedTuple):
    """The literals that texts must contain to fit patterns. L literals, Q patterns."""

    automaton: Automaton  # of the literals
    owners: NDArray[np.int32]  # (L,) the owner of each: pattern p as 2 p, regular expression r as 2 r + 1
    sure: NDArray[np.uint8]  # (L,) 1 if a text that contains it surely fits its pattern
    pattern_starts: NDArray[np.int64]  # (Q + 1,)
    tokens: NDArray[np.int16]


@kernel
def find_patterns(
    literals: Literals,
    text_starts: NDArray[np.int64],
    text_bytes: NDArray[np.uint8],
    first: int,
    stamps: NDArray[np.int64],
    held: NDArray[np.int32],
    out_starts: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write the LIKE patterns that each text from `first` on fits, and the regular expressions that it may match.

    `held` has room for all literals, and `stamps` for one more: the last is the stamp of the text before. If `out` is
    full, this ends early and returns the number of the text that did not fit. The output of text t ends at
    out_starts[t + 1].
    """
    known = viewed(literals)
    owners, sure, starts, tokens = known.owners, known.sure, known.pattern_starts, known.tokens
    to = out_starts[first]
    for text in range(first, len(text_starts) - 1):
        data = text_bytes[text_starts[text] : text_starts[text + 1]]
        stamps[-1] += 1
        count = find_literals(known.automaton, data, stamps, stamps[-1], held)
        if to + count > len(out):
            return text
        begun = to
        for i in range(count):
            owner = owners[held[i]]
            pattern = owner >> 1
            fits = owner & 1 == 1 or sure[held[i]] != 0
            if fits or is_like(data, 0, len(data), tokens, starts[pattern], starts[pattern + 1]):
                out[to] = owner
                to += 1
        sort_numbers(out, np.int64(begun), np.int64(to))
        out_starts[text + 1] = to
    return len(text_starts) - 1
