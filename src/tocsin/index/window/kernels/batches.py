"""Which words has each record? Each once, and where words weigh differently the lightest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


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
    """Write the words of each record, each once, the lightest first; `stamps` are at most `stamp`, then more."""
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
