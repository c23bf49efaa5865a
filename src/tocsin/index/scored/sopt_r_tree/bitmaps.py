"""A set of numbers below n, as a bitmap with a summary bit for each of its words, recursively.

Insertion, removal, successor and predecessor touch one word a level, at most six.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.intrinsics import highest_bit, lowest_bit

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


class Bitmap(NamedTuple):
    """One bit a number, then one bit for each word that is not 0, up to a single word. L levels."""

    words: NDArray[np.uint64]
    starts: NDArray[np.int64]  # (L,) where each level begins


@kernel
def new_bitmap(count: int) -> Bitmap:
    """An empty set of numbers below `count`."""
    starts = np.empty(8, np.int64)
    level, total, words = 0, 0, count
    while True:
        words = (words + 63) >> 6
        starts[level] = total
        total += max(words, 1)
        level += 1
        if words <= 1:
            break
    return Bitmap(np.zeros(total, np.uint64), starts[:level].copy())


@inlined
def insert(held: Bitmap, number: int) -> None:
    """Insert a number."""
    at = np.uint64(number)
    for level in range(len(held.starts)):
        word = np.uint64(held.starts[level]) + (at >> _SIX)
        before = held.words[word]
        held.words[word] = before | (_ONE << (at & _LOW_SIX))
        if before != _NONE:
            return
        at >>= _SIX


@inlined
def remove(held: Bitmap, number: int) -> None:
    """Remove a number."""
    at = np.uint64(number)
    for level in range(len(held.starts)):
        word = np.uint64(held.starts[level]) + (at >> _SIX)
        held.words[word] &= ~(_ONE << (at & _LOW_SIX))
        if held.words[word] != _NONE:
            return
        at >>= _SIX


@inlined
def first_from(held: Bitmap, number: int) -> int:
    """The least number in the set that is at least `number`; -1 if there is none."""
    at = np.int64(number)
    level = 0
    while level < len(held.starts):
        word = held.starts[level] + (at >> 6)
        behind = held.starts[level + 1] if level + 1 < len(held.starts) else len(held.words)
        if word >= behind:
            return np.int64(-1)
        bits = held.words[word] >> np.uint64(at & 63)
        if bits != _NONE:
            at += np.int64(lowest_bit(bits))
            while level > 0:
                level -= 1
                at = (at << 6) + np.int64(lowest_bit(held.words[held.starts[level] + at]))
            return at
        at = (at >> 6) + 1
        level += 1
    return np.int64(-1)


@inlined
def last_until(held: Bitmap, number: int) -> int:
    """The greatest number in the set that is at most `number`; -1 if there is none."""
    at = np.int64(number)
    level = 0
    while level < len(held.starts) and at >= 0:
        bits = held.words[held.starts[level] + (at >> 6)] << np.uint64(63 - (at & 63))
        if bits != _NONE:
            at -= 63 - np.int64(highest_bit(bits))
            while level > 0:
                level -= 1
                at = (at << 6) + np.int64(highest_bit(held.words[held.starts[level] + at]))
            return at
        at = (at >> 6) - 1
        level += 1
    return np.int64(-1)
