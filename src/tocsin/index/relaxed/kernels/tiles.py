"""Of which subscriptions do most dimensions hold, when all must be looked at? Tile by tile, for several events at once.

A tile is 256 subscriptions, and a column of it one field's ranges and weights of all of them, side by side, so that
several are tested in one instruction and a tile stays in the cache while all events pass by. A subscription with
general dimensions, or with several ranges of one field, is looked at by itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.one_by_one import is_alone
from tocsin.index.relaxed.kernels.threshold import Asked
from tocsin.index.relaxed.kernels.weighing import FIELD, HIGH, LOW, MAX, MIN, NOTHING, ROW, SUM, Dimensions, keep
from tocsin.kernels.jit import bits_of_float, inlined, kernel
from tocsin.kernels.packing import borrowed

TILE: Final = 256
MOST_EVENTS: Final = 64
"""Events that pass by a tile together."""

_TILE = np.uint64(TILE)


class Tiles(NamedTuple):
    """Subscriptions in tiles. T tiles, C columns."""

    starts: NDArray[np.int64]  # (T + 1,) columns [starts[t], starts[t + 1]) are tile t's
    fields: NDArray[np.int32]  # (C,) in the order that weights are added
    lows: NDArray[np.int32]  # (256 C,) a range that none meets where a subscription has no such dimension
    highs: NDArray[np.int32]  # (256 C,)
    weights: NDArray[np.float64]  # (256 C,)


@kernel
def count_columns(dimensions: Dimensions, ranks: NDArray[np.int32], order: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where each tile's columns begin. `ranks` are the fields' places in `order`."""
    tiles = (len(dimensions.starts) - 1 + TILE - 1) // TILE
    last = np.full(len(ranks), -1, np.int64)
    starts = np.zeros(tiles + 1, np.int64)
    for s in range(len(dimensions.starts) - 1):
        first, stop = dimensions.starts[s], dimensions.starts[s + 1]
        if is_alone(dimensions.rows, first, stop):
            continue
        for d in range(first, stop):
            field = dimensions.rows[ROW * d + FIELD]
            if last[field] != s // TILE:
                last[field] = s // TILE
                starts[s // TILE + 1] += 1
    for tile in range(tiles):
        starts[tile + 1] += starts[tile]
    return starts


@kernel
def fill_columns(dimensions: Dimensions, ranks: NDArray[np.int32], order: NDArray[np.int32], tiles: Tiles) -> None:
    """Write the columns."""
    column_of = np.full(len(ranks), -1, np.int64)
    used = np.empty(len(ranks), np.int64)
    for tile in range(len(tiles.starts) - 1):
        count = 0
        stop_s = min((tile + 1) * TILE, len(dimensions.starts) - 1)
        for s in range(tile * TILE, stop_s):
            first, stop = dimensions.starts[s], dimensions.starts[s + 1]
            if is_alone(dimensions.rows, first, stop):
                continue
            for d in range(first, stop):
                field = dimensions.rows[ROW * d + FIELD]
                if column_of[field] < 0:
                    column_of[field] = 0
                    used[count] = ranks[field]
                    count += 1
        used[:count].sort()
        for i in range(count):
            column = tiles.starts[tile] + i
            tiles.fields[column] = order[used[i]]
            column_of[order[used[i]]] = column
        for s in range(tile * TILE, stop_s):
            first, stop = dimensions.starts[s], dimensions.starts[s + 1]
            if is_alone(dimensions.rows, first, stop):
                continue
            for d in range(first, stop):
                at = TILE * column_of[dimensions.rows[ROW * d + FIELD]] + s - tile * TILE
                tiles.lows[at], tiles.highs[at] = dimensions.rows[ROW * d + LOW], dimensions.rows[ROW * d + HIGH]
                tiles.weights[at] = dimensions.weights[d]
        for i in range(count):
            column_of[order[used[i]]] = -1


@kernel
def best_by_tiles(
    subscriptions: int,
    tiles: Tiles,
    asked: Asked,
    fields: int,
    events: NDArray[np.int64],
    scores: NDArray[np.float64],
    numbers: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:
    """Put the best of some events, at most MOST_EVENTS, on their heaps, and how many into `found`."""
    tiles, asked, events, scores, numbers, found = borrowed((tiles, asked, events, scores, numbers, found))
    tile_starts, tile_fields, lows, highs, tile_weights = tiles
    own_starts, own_fields, own_codes, own_uppers, _, _, alive, combine, _, _, _ = asked
    values, uppers = np.full((len(events), fields), -1, np.int32), np.full((len(events), fields), -1, np.int32)
    for i in range(len(events)):
        found[events[i]] = 0
        for at in range(own_starts[events[i]], own_starts[events[i] + 1]):
            values[i, own_fields[at]] = own_codes[at]
            uppers[i, own_fields[at]] = own_uppers[at]
    sums = np.empty(TILE, np.float64)
    for tile in range(len(tile_starts) - 1):
        base = tile * TILE
        size = min(TILE, subscriptions - base)
        for i in range(len(events)):
            event = events[i]
            first, stop = tile_starts[tile], tile_starts[tile + 1]
            top = _weigh(tile_fields, lows, highs, tile_weights, first, stop, values[i], uppers[i], combine, sums)
            kept = found[event]
            worst = bits_of_float(scores[event, 0]) if kept == scores.shape[1] else np.int64(0)
            if top < worst:
                continue
            for s in range(size):
                if bits_of_float(sums[s]) < worst:
                    continue
                at = np.uint64(base + s)
                if (alive[at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1):
                    kept = keep(scores[event], numbers[event], kept, sums[s], base + s)
            found[event] = kept


@inlined
def _weigh(
    fields: NDArray[np.int32],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    weights: NDArray[np.float64],
    first: int,
    stop: int,
    values: NDArray[np.int32],
    uppers: NDArray[np.int32],
    combine: int,
    sums: NDArray[np.float64],
) -> int:
    """Write the scores of a tile's subscriptions; returns the highest, as bits.

    Scores are at least 0, so that their bits compare as they do; what is negative says that nothing holds. A sum begins
    with -0.0, which only remains where nothing is added: not even a weight of 0.
    """
    sums[:] = -0.0 if combine == SUM else NOTHING if combine == MAX else np.inf
    for column in range(first, stop):
        code = values[fields[column]]
        if code < 0:
            continue
        upper = uppers[fields[column]]
        at = _TILE * np.uint64(column)
        if combine == SUM:
            for s in range(_TILE):
                is_in = (lows[at + s] <= upper) & (code <= highs[at + s])
                sums[s] += weights[at + s] if is_in else -0.0
        elif combine == MAX:
            for s in range(_TILE):
                is_in = (lows[at + s] <= upper) & (code <= highs[at + s])
                sums[s] = max(sums[s], weights[at + s] if is_in else NOTHING)
        else:
            for s in range(_TILE):
                is_in = (lows[at + s] <= upper) & (code <= highs[at + s])
                sums[s] = min(sums[s], weights[at + s] if is_in else np.inf)
    if combine == MIN:
        for s in range(_TILE):
            sums[s] = NOTHING if sums[s] == np.inf else sums[s]
    top = np.int64(-1)
    for s in range(_TILE):
        top = max(top, bits_of_float(sums[s]))
    return top
