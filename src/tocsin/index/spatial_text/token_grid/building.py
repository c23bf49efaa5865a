"""Building of lists and blocks: entries under their keys, and each list ordered by position on the map."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, numbered, starts_of
from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.spatial_text.kernels.choosing import rarest_tokens
from tocsin.index.spatial_text.kernels.layouts import ABSENT
from tocsin.index.spatial_text.kernels.resembling import Weighed
from tocsin.index.spatial_text.regions import Held
from tocsin.index.spatial_text.token_grid.kernels.lists import ABOVE, ACROSS, BLOCK, MOST, UP, Grid, Lists, pack_entries
from tocsin.index.spatial_text.token_grid.kernels.shares import Shared, suffix_shares

_CLASSES: Final = 8
"""Classes of shares, in a list that has several blocks."""


def build_lists(
    held: Held, owners: NDArray[np.int32], tokens: NDArray[np.int32], shares: NDArray[np.float64] | None = None
) -> Lists:
    """The lists of some entries. An entry is a subscription under a token, or under the number after the last token.

    With `shares`, an entry has its share in place of a signature. Cost: that of sorting them twice.
    """
    regions, count = held.regions, len(held.counts) + 1
    shares = np.empty(0) if shares is None else shares
    keys = regions.owners[owners].astype(np.int64) * count + tokens
    order = _order(keys, _classes(keys, shares), regions.boxes[owners])
    owners, keys, shares = owners[order], keys[order], shares[order[: len(shares)]]
    lengths = np.bincount(keys, minlength=held.places * count)
    starts = starts_of(-(-lengths // BLOCK), len(lengths))
    sizes = np.full(int(starts[-1]), BLOCK)
    some = np.flatnonzero(lengths)
    sizes[starts[some + 1] - 1] = (lengths[some] - 1) % BLOCK + 1
    entry_starts = starts_of(sizes, len(sizes))
    blocks = _blocks(regions.boxes[owners], shares, entry_starts)
    lists = Lists(
        tokens=np.array([count]),
        starts=starts.astype(np.int32),
        entry_starts=entry_starts.astype(np.int32),
        blocks=blocks,
        packed=np.empty(len(owners), np.uint64),
        owners=owners,
    )
    pack_entries(lists, regions, frozen(keys % count, np.int32), frozen(shares, np.float64))
    return frozen_table(lists)


def build_grid(held: Held) -> Grid:
    """The lists of all subscriptions under their rarest token, and once more under none."""
    able = np.flatnonzero(held.regions.owners != ABSENT).astype(np.int32)
    rarest = rarest_tokens(held.regions, held.counts, able)
    everyone = build_lists(held, able, np.full(len(able), len(held.counts), np.int32))
    of_each = np.empty(len(held.regions.owners), np.uint64)
    of_each[able] = rarest
    packed = everyone.packed & (np.uint64(1) << ABOVE) - np.uint64(1) | of_each[everyone.owners] << ABOVE
    return Grid(build_lists(held, able, rarest), everyone._replace(packed=frozen(packed, np.uint64)))


def build_shared(held: Held, weighed: Weighed) -> Shared:
    """The lists of all keywords of all subscriptions. Cost: that of sorting them twice."""
    regions = held.regions
    able = np.flatnonzero(regions.owners != ABSENT).astype(np.int32)
    owners = np.repeat(np.arange(len(regions.owners), dtype=np.int32), np.diff(regions.token_starts))
    shares = suffix_shares(regions, held.counts, weighed)
    everyone = np.full(len(able), len(held.counts), np.int32)
    return Shared(
        build_lists(
            held,
            frozen(np.concatenate([owners, able]), np.int32),
            np.concatenate([regions.tokens, everyone]),
            np.concatenate([shares, np.ones(len(able))]),
        )
    )


def _classes(keys: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class of each entry of a long list by its share, the greatest first; 0 in short lists."""
    if not len(shares):
        return np.zeros(len(keys), np.int64)
    is_long = np.bincount(keys) > BLOCK
    return np.where(is_long[keys], _CLASSES - (shares * _CLASSES).astype(np.int64), 0)


def _order(keys: NDArray[np.int64], classes: NDArray[np.int64], boxes: NDArray[np.float64]) -> NDArray[np.int64]:
    """The order by key and class, in strips from left to right, then upwards, as in sort-tile-recursive."""
    groups = numbered(keys * (_CLASSES + 1) + classes)[1]
    x, y = boxes[:, LEFT] / 2 + boxes[:, RIGHT] / 2, boxes[:, LOWER] / 2 + boxes[:, UPPER] / 2
    across = np.lexsort((x, groups))
    lengths = np.bincount(groups)
    starts = np.cumsum(lengths) - lengths
    ranks = np.arange(len(keys)) - starts[groups[across]]
    blocks = -(-lengths // BLOCK)
    strips = ranks // np.maximum(np.ceil(np.sqrt(blocks)).astype(np.int64) * BLOCK, 1)[groups[across]]
    return across[np.lexsort((y[across], strips, groups[across]))]


def _blocks(boxes: NDArray[np.float64], shares: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """(B, 8) the columns of blocks, all rounded outwards."""
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
    if len(shares):
        out[:, MOST] = np.maximum.reduceat(shares, starts[:-1]) * (1 + 1e-6)
    return out
