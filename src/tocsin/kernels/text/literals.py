"""What must a text hold to fit a LIKE pattern? The longest of the pattern's literal pieces, where it must lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.codes import ANY_RUN
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import viewed
from tocsin.kernels.sorting import sort_numbers
from tocsin.kernels.text.automaton import BEGIN, END, Automaton, find_literals
from tocsin.kernels.text.strings import is_like


@kernel
def longest_piece(tokens: NDArray[np.int16], first: int, last: int) -> tuple[int, int]:
    """The longest run of bytes among tokens[first:last]; at the ends of the pattern an anchor counts as one more."""
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
    """Whether a pattern has any byte."""
    for at in range(first, last):
        if tokens[at] < ANY_RUN:
            return True
    return False


@kernel
def is_whole(tokens: NDArray[np.int16], first: int, last: int, start: int, stop: int) -> bool:
    """Whether a text fits as soon as it holds the piece [start, stop), anchored where it is at an end."""
    for at in range(first, last):
        if (at < start or at >= stop) and tokens[at] != ANY_RUN:
            return False
    return True


@kernel
def write_pieces(
    starts: NDArray[np.int64], tokens: NDArray[np.int16]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
    """The literal of each pattern with its anchors in CSR form, empty for none; and 1 where it is all that is asked."""
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
    """What texts must hold to fit patterns. L literals, Q patterns."""

    automaton: Automaton  # of the literals
    owners: NDArray[np.int32]  # (L,) what each stands for: pattern p as 2 p, regular expression r as 2 r + 1
    sure: NDArray[np.uint8]  # (L,) 1 where a text that holds it fits its pattern
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
    """Write the LIKE patterns that each text from `first` on fits, and the regular expressions that it may.

    `stamps` and `held` are room for as many as there are literals. Ends early, at the text whose number it returns,
    where `out` is full; what text t fits ends at out_starts[t + 1].
    """
    known = viewed(literals)
    owners, sure, starts, tokens = known.owners, known.sure, known.pattern_starts, known.tokens
    to = out_starts[first]
    for text in range(first, len(text_starts) - 1):
        data = text_bytes[text_starts[text] : text_starts[text + 1]]
        count = find_literals(known.automaton, data, stamps, text + 1, held)
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
