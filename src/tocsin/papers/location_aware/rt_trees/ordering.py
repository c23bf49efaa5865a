"""Orders of a subscription's tokens. The first one represents it, so the order should put the most selective first.

Source: Yu et al. 2015, section 4.2. The paper does not mention ties; here the lower token comes first.
"""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.spatial_text.kernels.layouts import Regions
from tocsin.index.spatial_text.regions import Held

RANDOM, DF, IDF, LOCALITY = range(4)
SELECTIONS: Final = ("random", "df", "idf", "locality-aware")
CELLS: Final = 100
"""Cells per side of the grid in which tokens are counted."""

_Ranks = NDArray[np.int64] | NDArray[np.float64]


def order_tokens(held: Held, selection: int) -> NDArray[np.int32]:
    """(T,) the tokens of all subscriptions, each subscription's in the order of a selection."""
    regions = held.regions
    owners = np.repeat(np.arange(len(regions.owners)), np.diff(regions.token_starts))
    ranks: list[_Ranks]
    if selection == RANDOM:
        ranks = [np.random.default_rng(len(owners)).random(len(owners))]
    elif selection == DF:
        ranks = [_picks(regions, held.counts)[regions.tokens]]
    else:
        ranks = [held.counts[regions.tokens]]
    if selection == LOCALITY:
        ranks.append(_counts_near(regions, owners, len(held.counts)))
    return frozen(regions.tokens[np.lexsort((*ranks, owners))], np.int32)


def _picks(regions: Regions, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """(O,) the order in which DF picks tokens: always the one in most subscriptions that have no picked token yet.

    Tokens that are not needed come last, the most frequent first. Cost: O(T + O log O) expected.
    """
    starts, tokens = regions.token_starts, regions.tokens
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[np.argsort(tokens, kind="stable")]
    list_starts = starts_of(counts, len(counts))
    left, is_covered = counts.copy(), np.zeros(len(starts) - 1, bool)
    ranks: NDArray[np.int64] = len(counts) + counts.max(initial=0) - counts
    heap = [(-count, token) for token, count in enumerate(counts.tolist())]
    heapq.heapify(heap)
    picked = 0
    while heap:
        count, token = heapq.heappop(heap)
        if left[token] == 0:
            continue
        if left[token] < -count:
            heapq.heappush(heap, (-int(left[token]), token))
            continue
        own = owners[list_starts[token] : list_starts[token + 1]]
        own = own[~is_covered[own]]
        is_covered[own] = True
        lengths = starts[own + 1] - starts[own]
        at = np.arange(int(lengths.sum())) + np.repeat(starts[own] - (np.cumsum(lengths) - lengths), lengths)
        np.subtract.at(left, tokens[at], 1)
        ranks[token], picked = picked, picked + 1
    return ranks


def _counts_near(regions: Regions, owners: NDArray[np.int64], tokens: int) -> NDArray[np.int64]:
    """(T,) the number of subscriptions that ask for a token in the grid cell of a subscription's centre."""
    boxes = regions.boxes
    middles = np.stack([boxes[:, LEFT] / 2 + boxes[:, RIGHT] / 2, boxes[:, LOWER] / 2 + boxes[:, UPPER] / 2], axis=1)
    cells = np.zeros(len(boxes), np.int64)
    for place in range(int(regions.owners.max(initial=-1)) + 1):
        members = np.flatnonzero(regions.owners == place)
        own = middles[members]
        lows, highs = own.min(axis=0), own.max(axis=0)
        parts = (own / 2 - lows / 2) / np.maximum(highs / 2 - lows / 2, 1e-300)
        columns, rows = np.minimum((parts * CELLS).astype(np.int64), CELLS - 1).T
        cells[members] = (place * CELLS + rows) * CELLS + columns
    keys = cells[owners] * tokens + regions.tokens
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    found: NDArray[np.int64] = counts[inverse]
    return found
