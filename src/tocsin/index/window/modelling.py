"""At which rank should the threshold of a k-skyband lie? Where maintenance and searches together cost least.

Paper: Wang et al. 2016, section 6.2, as far as it was at hand: messages come to a buffer at a rate, each costs a look
at what is held, and a search is due when fewer than k are left. Departs: the number above the threshold is no random
walk with steps up and down alike, for the more there are, the more expire; it is what is in a queue of M/M/infinity.

Costs are in visits of an entry, and of a window's length in time: neither the window's size nor the machine matters.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

SEARCH: Final = 300_000.0
"""What a search of the window costs: 0.5 to 2 ms, where a visit takes 2 to 5 ns."""
_TOUCH: Final = 100.0
"""What it costs to find a buffer in memory for a message that comes, and again when it expires."""
_FURTHEST: Final = 16
"""Ranks beyond so many times k are not looked at."""


def expected_size(rank: float, k: int) -> float:
    """How many messages a k-skyband holds of `rank` that reach its threshold."""
    return rank if rank <= k else k * (1.0 + math.log(rank / k))


def windows_by_walk(rank: int, k: int) -> float:
    """How long until fewer than k of `rank` messages are left, in windows, by the paper's walk."""
    return (rank - k + 1) ** 2 / rank


def windows_by_queue(rank: int, k: int) -> float:
    """The same, when `rank` messages come in a window on the average, and each stays for as long on the average.

    The time from n to n - 1 is the sum over m >= n of rank ** (m - n) / (n * ... * m); infinite where none can tell.
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
    """What a threshold at a rank costs in a window: arrivals, expiries, searches."""
    windows = windows_by_walk(rank, k) if by_walk else windows_by_queue(rank, k)
    return rank * (expected_size(rank, k) + _TOUCH) + search / windows


@cache
def best_rank(k: int, search: float = SEARCH, *, by_walk: bool = False) -> int:
    """The rank from k on that costs least; costs fall, then rise."""
    best, least = k, cost(k, k, search, by_walk=by_walk)
    for rank in range(k + 1, _FURTHEST * k + _FURTHEST + 1):
        here = cost(rank, k, search, by_walk=by_walk)
        if here < least:
            best, least = rank, here
        elif here > 2 * least:
            break
    return best
