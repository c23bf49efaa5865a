"""How are the subscriptions found for one event put in order, each once? Through a bitmap."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import count_bits, inlined, kernel, lowest_bit

DENSE: Final = 8
"""With more hits than a word in so many, all words are walked."""

SPARE: Final = 4
"""Room that `put_in_order` wants beyond what it will write."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


@inlined
def put_in_order(
    hits: NDArray[np.int32],
    count: int,
    alive: NDArray[np.uint64],
    words: NDArray[np.uint64],
    summary: NDArray[np.uint64],
    out: NDArray[np.int32],
    at: int,
) -> int:
    """Write the distinct subscriptions among `hits` that are alive, ascending, to out[at:]; returns how many.

    Each sets a bit. Few bits are found through a summary of the words that have any, many by walking all words.
    `out` has room for `count` and SPARE more.
    """
    dense = DENSE * count > len(words)
    for i in range(np.uint64(count)):
        number = np.uint64(np.uint32(hits[i]))
        words[number >> _SIX] |= _ONE << (number & _LOW_SIX)
    if dense:
        return np.int64(_take_all(alive, words, out, np.uint64(at)))
    for i in range(np.uint64(count)):
        word = np.uint64(np.uint32(hits[i])) >> _SIX
        summary[word >> _SIX] |= _ONE << (word & _LOW_SIX)
    written = np.uint64(at)
    for group in range(np.uint64(len(summary))):
        rest = summary[group]
        summary[group] = _NONE
        while rest != _NONE:
            word = (group << _SIX) | np.uint64(lowest_bit(rest))
            rest &= rest - _ONE
            bits = words[word] & alive[word]
            words[word] = _NONE
            while bits != _NONE:
                out[written] = np.int32(word << _SIX) + np.int32(lowest_bit(bits))
                written += _ONE
                bits &= bits - _ONE
    return np.int64(written) - at


@kernel
def _take_all(alive: NDArray[np.uint64], words: NDArray[np.uint64], out: NDArray[np.int32], at: int) -> int:
    """Write the numbers of all set bits to out[at:] and clear them; returns how many.

    Four a word are written whether there are so many or not, so that no branch depends on it.
    """
    written = at
    for word in range(np.uint64(len(words))):
        bits = words[word] & alive[word]
        words[word] = _NONE
        base = np.int32(word << _SIX)
        found = count_bits(bits)
        for i in range(np.uint64(4)):
            out[written + i] = base + np.int32(lowest_bit(bits))
            bits &= bits - _ONE
        if found > np.uint64(4):
            more = written + np.uint64(4)
            while bits != _NONE:
                out[more] = base + np.int32(lowest_bit(bits))
                more += _ONE
                bits &= bits - _ONE
        written += found
    return written - at
