"""Cost model for the threshold of a k-skyband: the rank at which maintenance and searches together cost least.

Paper: Wang et al. 2016, section 6.2, as far as it was available. Messages reach a buffer at a rate. Each costs a scan
of the buffer, and a search is due when fewer than k are left. Departs: the number above the threshold is not a
symmetric random walk, because the more there are, the more expire. It is modelled as the length of an M/M/infinity
queue.

The unit of cost is the visit of an entry, and the unit of time the length of the window. So neither the window's size
nor the machine matters.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

SEARCH: Final = 300_000.0
"""The cost of a search of the window: 0.5 to 2 ms, at 2 to 5 ns a visit."""
_TOUCH: Final = 100.0
"""The cost of bringing a buffer into the cache for a message that arrives, and again when it expires."""
_FURTHEST: Final = 16
"""Ranks beyond this many times k are not tried."""


def expected_size(rank: float, k: int) -> float:
    """The expected size of a k-skyband if `rank` messages reach its threshold."""
    return rank if rank <= k else k * (1.0 + math.log(rank / k))


def windows_by_walk(rank: int, k: int) -> float:
    """The expected time in windows until fewer than k of `rank` messages are left, by the paper's walk."""
    return (rank - k + 1) ** 2 / rank


def windows_by_queue(rank: int, k: int) -> float:
    """The same by the queue: on average `rank` messages arrive in a window, and each stays for one window.

    The time from n to n - 1 is the sum over m >= n of rank ** (m - n) / (n * ... * m). Returns infinity if that is too
    large.
    """
    total = 0.0
    for start in range(k, rank + 1):
        term = 1.0 / start
        level = start
        while term > 1e-12 * total or level < rank:
            total += term
            level += 1
            term *= rank / level
            if total > 1e18:
                return math.inf
    return total


def cost(rank: int, k: int, search: float = SEARCH, *, by_walk: bool = False) -> float:
    """The cost of a threshold at a rank during one window: arrivals, expiries, searches."""
    windows = windows_by_walk(rank, k) if by_walk else windows_by_queue(rank, k)
    return rank * (expected_size(rank, k) + _TOUCH) + search / windows


@cache
def best_rank(k: int, search: float = SEARCH, *, by_walk: bool = False) -> int:
    """The rank of k or more that costs least. Costs fall, then rise."""
    best, least = k, cost(k, k, search, by_walk=by_walk)
    for rank in range(k + 1, _FURTHEST * k + _FURTHEST + 1):
        here = cost(rank, k, search, by_walk=by_walk)
        if here < least:
            best, least = rank, here
        elif here > 2 * least:
            break
    return best
