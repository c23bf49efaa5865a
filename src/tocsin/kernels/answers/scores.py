"""Maxima of blocks of 64 scores, with which a top-k search skips whole blocks."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel

BITS: Final = 6
"""A block has 2**6 scores."""


@kernel
def block_maxima(scores: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """(S // 2**bits + 1,) the best score of each block of 2**bits subscriptions; -inf if the block is empty."""
    maxima = np.full((len(scores) >> bits) + 1, -np.inf)
    for number in range(len(scores)):
        maxima[number >> bits] = max(maxima[number >> bits], scores[number])
    return maxima


@kernel
def put_scores(
    scores: NDArray[np.float64],
    maxima: NDArray[np.float64],
    numbers: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    """Change scores, in order, and the maxima of their blocks."""
    for i in range(len(numbers)):
        number = numbers[i]
        block = number >> BITS
        before = scores[number]
        scores[number] = values[i]
        if values[i] >= maxima[block]:
            maxima[block] = values[i]
        elif before == maxima[block]:
            first, most = block << BITS, -np.inf
            for other in range(first, min(first + 64, len(scores))):
                most = max(most, scores[other])
            maxima[block] = most
