"""Ranks of strings among sorted operands, and LIKE matching, both on UTF-8 bytes.

The byte order of UTF-8 is the order of code points.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels.codes import ANY_ONE, ANY_RUN
from tocsin.kernels.searching import first_at_least


@kernel
def locate(
    sorted_starts: NDArray[np.int64],
    sorted_bytes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    text: NDArray[np.uint8],
    ranks: NDArray[np.int32],
) -> None:
    """Write the rank code of each string: 2r + 1 if it equals sorted string r, 2r if it lies just before r."""
    count = np.int64(len(sorted_starts) - 1)
    for i in range(len(starts) - 1):
        ranks[i] = _rank(sorted_starts, sorted_bytes, np.int64(0), count, text, starts[i], starts[i + 1])


@kernel
def locate_by_heads(
    heads: NDArray[np.uint64],
    sorted_starts: NDArray[np.int64],
    sorted_bytes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    text: NDArray[np.uint8],
    ranks: NDArray[np.int32],
) -> None:
    """Like `locate`, but by the heads of the sorted strings. Bytes are compared only if heads are equal.

    Several strings are looked up in step, so that their memory accesses overlap.
    """
    count, total = np.uint64(len(heads)), len(starts) - 1
    lows, own = np.empty(_IN_STEP, np.uint64), np.zeros(_IN_STEP, np.uint64)
    for begin in range(0, total, _IN_STEP):
        some = min(_IN_STEP, total - begin)
        for k in range(some):
            own[k] = _head(text, starts[begin + k], starts[begin + k + 1])
        _first_of_each(heads, own, lows)
        for k in range(some):
            low, i = lows[k], begin + k
            high = low
            if low < count and heads[low] == own[k]:
                high = low + np.uint64(1)
                if high < count and heads[high] == own[k]:
                    is_last = own[k] == _LAST_HEAD
                    high = count if is_last else first_at_least(heads, high, count, own[k] + np.uint64(1))
            ranks[i] = _rank(sorted_starts, sorted_bytes, np.int64(low), np.int64(high), text, starts[i], starts[i + 1])


@inlined
def _first_of_each(heads: NDArray[np.uint64], wanted: NDArray[np.uint64], lows: NDArray[np.uint64]) -> None:
    """For each wanted head, write the first place of `heads` that is not below it."""
    left = np.uint64(len(heads))
    lows[:] = 0
    while left > np.uint64(0):
        half = (left + np.uint64(1)) >> np.uint64(1)
        for k in range(np.uint64(len(lows))):
            is_below = heads[lows[k] + half - np.uint64(1)] < wanted[k]
            lows[k] += half if is_below else np.uint64(0)
        left -= half


_IN_STEP: Final = 16
_LAST_HEAD = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _rank(
    sorted_starts: NDArray[np.int64],
    sorted_bytes: NDArray[np.uint8],
    low: int,
    high: int,
    text: NDArray[np.uint8],
    first: int,
    stop: int,
) -> int:
    """The rank code of text[first:stop], whose place is known to be in [low, high] of the sorted strings."""
    while low < high:
        middle = (low + high) >> 1
        order = _compare(sorted_bytes, sorted_starts[middle], sorted_starts[middle + 1], text, first, stop)
        if order == 0:
            return 2 * middle + 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return 2 * low


@kernel
def heads_of(starts: NDArray[np.int64], text: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The first eight bytes of each string as a number, padded with zeros. They sort as the strings do."""
    heads = np.empty(len(starts) - 1, np.uint64)
    for i in range(len(heads)):
        heads[i] = _head(text, starts[i], starts[i + 1])
    return heads


@inlined
def _head(text: NDArray[np.uint8], first: int, stop: int) -> int:
    head = np.uint64(0)
    for i in range(8):
        head <<= np.uint64(8)
        if first + i < stop:
            head |= np.uint64(text[first + i])
    return head


@kernel
def _compare(left: NDArray[np.uint8], i: int, left_stop: int, right: NDArray[np.uint8], j: int, right_stop: int) -> int:
    """Negative, 0 or positive as left[i:left_stop] sorts before, with or after right[j:right_stop]."""
    while i < left_stop and j < right_stop:
        if left[i] != right[j]:
            return -1 if left[i] < right[j] else 1
        i += 1
        j += 1
    return (left_stop - i) - (right_stop - j)


@kernel
def is_like(text: NDArray[np.uint8], i: int, stop: int, tokens: NDArray[np.int16], t: int, last: int) -> bool:
    """Whether text[i:stop] fits tokens[t:last]. On a mismatch the last run takes one more code point: O(n * m)."""
    run_token = -1
    run_text = 0
    while i < stop:
        if t < last and tokens[t] == ANY_RUN:
            run_token = t
            run_text = i
            t += 1
        elif t < last and tokens[t] == ANY_ONE:
            i = _after(text, i, stop)
            t += 1
        elif t < last and tokens[t] == text[i]:
            i += 1
            t += 1
        elif run_token >= 0:
            run_text = _after(text, run_text, stop)
            i = run_text
            t = run_token + 1
        else:
            return False
    while t < last and tokens[t] == ANY_RUN:
        t += 1
    return t == last


@kernel
def _after(text: NDArray[np.uint8], i: int, stop: int) -> int:
    """The place after the code point that starts at i."""
    i += 1
    while i < stop and (text[i] & 0xC0) == 0x80:
        i += 1
    return i
