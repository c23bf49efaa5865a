"""Inverted lists: a FIFO ring of numbers for each word, in one pool.

A full ring moves to the end of the pool, with twice the room. Python checks the room before each message, and repacks
the pool if there is not enough.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists
from tocsin.jit.decorators import inlined, inner, kernel

LEAST: Final = 8
"""The least size of a list that is not empty."""


@inlined
def has_room(lists: Lists, words: NDArray[np.int32], first: int, stop: int) -> bool:
    """Whether a number can be appended to the lists of words[first:stop]."""
    needed = np.int64(0)
    for i in range(first, stop):
        word = words[i]
        if lists.counts[word] == lists.capacities[word]:
            needed += np.int64(max(2 * np.int64(lists.capacities[word]), LEAST))
    return lists.used[0] + needed <= len(lists.pool)


@inner
def put_behind(lists: Lists, word: int, number: int) -> None:
    """Append a number to a word's list; there must be room (`has_room`)."""
    pool, count, capacity = lists.pool, np.int64(lists.counts[word]), np.int64(lists.capacities[word])
    if count == capacity:
        capacity = max(2 * count, LEAST)
        start, old, head = lists.used[0], lists.starts[word], np.int64(lists.heads[word])
        for i in range(count):
            pool[start + i] = pool[old + ((head + i) & (count - 1))]
        lists.starts[word], lists.capacities[word], lists.heads[word] = start, capacity, 0
        lists.used[0] += capacity
    pool[lists.starts[word] + ((np.int64(lists.heads[word]) + count) & (capacity - 1))] = number
    lists.counts[word] = count + 1


@inlined
def drop_first(lists: Lists, word: int) -> None:
    """Remove the first number of a word's list."""
    lists.heads[word] = (lists.heads[word] + 1) & (lists.capacities[word] - 1)
    lists.counts[word] -= 1


@kernel
def pack_lists(lists: Lists, packed: Lists) -> None:
    """Copy all lists into another pool, one after another, each with some spare room."""
    for word in range(len(lists.starts)):
        count = np.int64(lists.counts[word])
        packed.counts[word], packed.heads[word], packed.capacities[word] = count, 0, 0
        if count == 0:
            continue
        capacity = np.int64(LEAST)
        while capacity < count + (count >> 2):
            capacity *= 2
        start, old, head = packed.used[0], lists.starts[word], np.int64(lists.heads[word])
        for i in range(count):
            packed.pool[start + i] = lists.pool[old + ((head + i) & (np.int64(lists.capacities[word]) - 1))]
        packed.starts[word], packed.capacities[word] = start, capacity
        packed.used[0] += capacity


@kernel
def put_all_behind(
    lists: Lists, numbers: NDArray[np.int32], starts: NDArray[np.int64], words: NDArray[np.int32]
) -> int:
    """Append number i to the lists of words[starts[i]:starts[i + 1]], in turn; returns how many had room."""
    for i in range(len(numbers)):
        if not has_room(lists, words, starts[i], starts[i + 1]):
            return i
        for at in range(starts[i], starts[i + 1]):
            put_behind(lists, np.int64(words[at]), np.int64(numbers[i]))
    return len(numbers)


@kernel
def distinct_words(
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    squares: NDArray[np.float64],
    stamps: NDArray[np.int64],
    stamp: int,
    out_starts: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the distinct words of each record, the lightest first.

    All `stamps` must be at most `stamp`; they are set to larger ones.
    """
    at = np.int64(0)
    out_starts[0] = 0
    for record in range(len(starts) - 1):
        first = at
        for i in range(starts[record], starts[record + 1]):
            word = words[i]
            if stamps[word] == stamp + record + 1:
                continue
            stamps[word] = stamp + record + 1
            place = at
            while place > first and squares[word] < squares[out[place - 1]]:
                out[place] = out[place - 1]
                place -= 1
            out[place] = word
            at += 1
        out_starts[record + 1] = at
