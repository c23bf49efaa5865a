"""Bitmaps of live subscriptions: one bit each, low bits first, 0 for a removed one."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Alive: TypeAlias = "NDArray[np.uint64] | None"
"""(S // 64 + 1,) one bit a subscription, low bits first, 0 for a removed one; None if none was removed."""


def everyone(count: int) -> NDArray[np.uint64]:
    """(count // 64 + 1,) a bitmap with `count` live subscriptions; the bits behind them are set, too."""
    return np.full(count // 64 + 1, ~np.uint64(0))


def are_alive(alive: NDArray[np.uint64], numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each of some subscriptions is live."""
    bits = alive[numbers >> 6] >> (numbers & 63).astype(np.uint64) & np.uint64(1)
    mask: NDArray[np.bool_] = bits.astype(bool)
    return mask


def bitmap(mask: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """(count // 64 + 1,) the bitmap of a mask; the bits behind its end are not set."""
    padded = np.zeros((len(mask) // 64 + 1) * 64, bool)
    padded[: len(mask)] = mask
    return np.packbits(padded, bitorder="little").view(np.uint64)


def living(alive: Alive, count: int) -> NDArray[np.int64]:
    """The numbers of the live subscriptions among the first `count`; all of them if `alive` is None."""
    if alive is None:
        return np.arange(count)
    return np.flatnonzero(np.unpackbits(alive.view(np.uint8), bitorder="little")[:count])
