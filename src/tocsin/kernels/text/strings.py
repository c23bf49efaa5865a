"""Where does a string stand among the operands, and does it fit a LIKE pattern? On UTF-8 bytes.

The byte order of UTF-8 is the order of code points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.codes import ANY_ONE, ANY_RUN
from tocsin.kernels.jit import kernel


@kernel
def locate(
    sorted_starts: NDArray[np.int64],
    sorted_bytes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    text: NDArray[np.uint8],
    ranks: NDArray[np.int32],
) -> None:
    """Write the rank code of each string: 2r + 1 where it equals sorted string r, 2r where it lies just before r."""
    count = len(sorted_starts) - 1
    for i in range(len(starts) - 1):
        low = 0
        high = count
        found = 0
        while low < high:
            middle = (low + high) >> 1
            order = _compare(
                sorted_bytes, sorted_starts[middle], sorted_starts[middle + 1], text, starts[i], starts[i + 1]
            )
            if order == 0:
                low = middle
                found = 1
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
        ranks[i] = 2 * low + found


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
    """The place behind the code point that starts at i."""
    i += 1
    while i < stop and (text[i] & 0xC0) == 0x80:
        i += 1
    return i
