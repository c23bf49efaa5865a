"""How are entries laid in lists and blocks? Each under its key, a list's by where they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.index.spatial_text.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.spatial_text.regions import Held
from tocsin.index.spatial_text.token_grid.kernels import ACROSS, BLOCK, UP, Lists, pack_entries


def build_lists(held: Held, owners: NDArray[np.int32], tokens: NDArray[np.int32]) -> Lists:
    """The lists of some entries: subscriptions, each under one of its tokens. Cost: that of sorting them twice."""
    regions, count = held.regions, len(held.counts)
    keys = regions.owners[owners].astype(np.int64) * count + tokens
    order = _order(keys, regions.boxes[owners])
    owners, keys = owners[order], keys[order]
    lengths = np.bincount(keys, minlength=held.places * count)
    blocks = -(-lengths // BLOCK)
    starts = starts_of(blocks, len(blocks))
    sizes = np.full(int(starts[-1]), BLOCK)
    some = np.flatnonzero(lengths)
    sizes[starts[some + 1] - 1] = (lengths[some] - 1) % BLOCK + 1
    entry_starts = starts_of(sizes, len(sizes))
    blocks = _blocks(regions.boxes[owners], entry_starts)
    lists = Lists(
        np.array([count]),
        starts.astype(np.int32),
        entry_starts.astype(np.int32),
        blocks,
        np.empty(len(owners), np.uint64),
        owners,
    )
    pack_entries(lists, regions, frozen(keys % max(count, 1), np.int32))
    return frozen_table(lists)


def _order(keys: NDArray[np.int64], boxes: NDArray[np.float64]) -> NDArray[np.int64]:
    """By key, then in strips from left to right, then upwards: neighbours are together (sort-tile-recursive)."""
    x, y = boxes[:, LEFT] / 2 + boxes[:, RIGHT] / 2, boxes[:, LOWER] / 2 + boxes[:, UPPER] / 2
    across = np.lexsort((x, keys))
    lengths = np.bincount(keys)
    starts = np.cumsum(lengths) - lengths
    ranks = np.arange(len(keys)) - starts[keys[across]]
    blocks = -(-lengths // BLOCK)
    strips = ranks // np.maximum(np.ceil(np.sqrt(blocks)).astype(np.int64) * BLOCK, 1)[keys[across]]
    return across[np.lexsort((y[across], strips, keys[across]))]


def _blocks(boxes: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """(B, 8) the box around the boxes of each block, rounded outwards, and 128 parts to its width and height."""
    out = np.zeros((len(starts) - 1, 8), np.float32)
    if not len(out):
        return out
    lows = np.minimum.reduceat(boxes[:, [LEFT, LOWER]], starts[:-1])
    highs = np.maximum.reduceat(boxes[:, [RIGHT, UPPER]], starts[:-1])
    with np.errstate(over="ignore"):
        low, high = lows.astype(np.float32), highs.astype(np.float32)
    low = np.where(low > lows, np.nextafter(low, np.float32(-np.inf)), low)
    high = np.where(high < highs, np.nextafter(high, np.float32(np.inf)), high)
    out[:, LEFT : UPPER + 1] = np.concatenate([low, high], axis=1)
    sides = high.astype(np.float64) - low
    out[:, [ACROSS, UP]] = 128.0 / sides.clip(1e-30, 1e300)
    return out
