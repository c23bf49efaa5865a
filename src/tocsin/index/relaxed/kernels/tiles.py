"""Scan for relaxed rankings by tiles, for several events at once.

A tile is 256 subscriptions. Each of its columns has one field's ranges and weights of all of them, side by side.
Several are tested in one instruction, and a tile stays in the cache while all events pass it. A subscription with
general dimensions, or with several ranges of one field, is scored by itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.layouts import FIELD, HIGH, LOW, MAX, MIN, ROW, SUM, Dimensions, Work
from tocsin.index.relaxed.kernels.one_by_one import is_alone
from tocsin.index.relaxed.kernels.weighing import NOTHING, is_alive, keep
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import bits_of_float
from tocsin.jit.views import viewed
from tocsin.kernels.sorting import sort_numbers

TILE: Final = 256
MOST_EVENTS: Final = 64
"""Events that pass a tile one after another, while it is in the cache."""
TOGETHER: Final = 4
"""Events for which a column is read once: with AVX-512 that takes 0.6 of the time of reading it for each."""

_TILE = np.uint64(TILE)


class Tiles(NamedTuple):
    """Subscriptions in tiles. T tiles, C columns."""

    starts: NDArray[np.int64]  # (T + 1,) columns [starts[t], starts[t + 1]) are tile t's
    fields: NDArray[np.int32]  # (C,) in the order that weights are added
    lows: NDArray[np.int32]  # (256 C,) a range that is never met if a subscription has no such dimension
    highs: NDArray[np.int32]  # (256 C,)
    weights: NDArray[np.float64]  # (256 C,)


class Columns(NamedTuple):
    """The numbering of tiles' columns. F fields."""

    ranks: NDArray[np.int32]  # (F,) position of each field in `order`
    order: NDArray[np.int32]  # (F,) the fields in the order that weights are added


@kernel
def count_columns(dimensions: Dimensions, fields: int) -> NDArray[np.int64]:
    """Where each tile's columns begin."""
    dimensions = viewed(dimensions)
    starts, rows = dimensions.starts, dimensions.rows
    last = np.full(fields, -1, np.int64)
    out = np.zeros((len(starts) - 1 + TILE - 1) // TILE + 1, np.int64)
    for s in range(len(starts) - 1):
        if not is_alone(rows, starts[s], starts[s + 1]):
            for d in range(starts[s], starts[s + 1]):
                field = rows[ROW * d + FIELD]
                if last[field] != s // TILE:
                    last[field] = s // TILE
                    out[s // TILE + 1] += 1
    for tile in range(len(out) - 1):
        out[tile + 1] += out[tile]
    return out


@kernel
def fill_columns(dimensions: Dimensions, columns: Columns, tiles: Tiles) -> None:
    """Write the columns."""
    dimensions, columns, tiles = viewed(dimensions), viewed(columns), viewed(tiles)
    starts, rows = dimensions.starts, dimensions.rows
    column_of = np.full(len(columns.ranks), -1, np.int64)
    used = np.empty(len(columns.ranks), np.int64)
    for tile in range(len(tiles.starts) - 1):
        stop = min((tile + 1) * TILE, len(starts) - 1)
        count = _number_columns(dimensions, columns, tiles, tile, used, column_of)
        for s in range(tile * TILE, stop):
            if is_alone(rows, starts[s], starts[s + 1]):
                continue
            for d in range(starts[s], starts[s + 1]):
                at = TILE * column_of[rows[ROW * d + FIELD]] + s - tile * TILE
                tiles.lows[at], tiles.highs[at] = rows[ROW * d + LOW], rows[ROW * d + HIGH]
                tiles.weights[at] = dimensions.weights[d]
        for i in range(count):
            column_of[columns.order[used[i]]] = -1


@inlined
def _number_columns(
    dimensions: Dimensions,
    columns: Columns,
    tiles: Tiles,
    tile: int,
    used: NDArray[np.int64],
    column_of: NDArray[np.int64],
) -> int:
    """Write the fields of a tile, and their columns; returns how many. `used` gets their ranks."""
    starts, rows, count = dimensions.starts, dimensions.rows, 0
    for s in range(tile * TILE, min((tile + 1) * TILE, len(starts) - 1)):
        if is_alone(rows, starts[s], starts[s + 1]):
            continue
        for d in range(starts[s], starts[s + 1]):
            field = rows[ROW * d + FIELD]
            if column_of[field] < 0:
                column_of[field] = 0
                used[count] = columns.ranks[field]
                count += 1
    sort_numbers(used, 0, count)
    for i in range(count):
        column = tiles.starts[tile] + i
        tiles.fields[column] = columns.order[used[i]]
        column_of[columns.order[used[i]]] = column
    return count


@kernel
def best_by_tiles(tiles: Tiles, work: Work, events: NDArray[np.int64]) -> None:
    """Put the best of some events, at most MOST_EVENTS, on their heaps."""
    tiles, work = viewed(tiles), viewed(work)
    asked, found = work.asked, work.heaps.found
    fields, subscriptions = len(work.values.codes), len(work.dimensions.starts) - 1
    codes, uppers = np.full((len(events), fields), -1, np.int32), np.full((len(events), fields), -1, np.int32)
    for i in range(len(events)):
        found[events[i]] = 0
        for at in range(asked.starts[events[i]], asked.starts[events[i] + 1]):
            codes[i, asked.fields[at]], uppers[i, asked.fields[at]] = asked.codes[at], asked.uppers[at]
    sums = np.empty(TOGETHER * TILE, np.float64)
    for tile in range(len(tiles.starts) - 1):
        base = tile * TILE
        size = min(TILE, subscriptions - base)
        for first in range(0, len(events), TOGETHER):
            last = min(first + TOGETHER, len(events))
            if asked.combine == SUM:
                _add_up(tiles, tile, codes[first:last], uppers[first:last], sums)
            for i in range(first, last):
                own = sums[(i - first) * TILE : (i - first + 1) * TILE]
                if asked.combine != SUM:
                    _weigh(tiles, tile, codes[i], uppers[i], asked.combine, own)
                _keep_best(work, events[i], base, own[:size], _highest(own))


@inner
def _add_up(
    tiles: Tiles, tile: int, codes: NDArray[np.int32], uppers: NDArray[np.int32], sums: NDArray[np.float64]
) -> None:
    """Write the sums of a tile's subscriptions for up to TOGETHER events, reading each column once.

    A sum begins with -0.0. It stays -0.0 only if nothing is added, not even a weight of 0.
    """
    fields, lows, highs, weights = tiles.fields, tiles.lows, tiles.highs, tiles.weights
    sums[:] = -0.0
    count = len(codes)
    for column in range(tiles.starts[tile], tiles.starts[tile + 1]):
        field = fields[column]
        code_0, upper_0 = _asked(codes, uppers, field, 0, count)
        code_1, upper_1 = _asked(codes, uppers, field, 1, count)
        code_2, upper_2 = _asked(codes, uppers, field, 2, count)
        code_3, upper_3 = _asked(codes, uppers, field, 3, count)
        if max(max(code_0, code_1), max(code_2, code_3)) < 0:
            continue
        at = _TILE * np.uint64(column)
        for s in range(_TILE):
            low, high, weight = lows[at + s], highs[at + s], weights[at + s]
            sums[s] += weight if (low <= upper_0) & (code_0 <= high) else -0.0
            sums[_TILE + s] += weight if (low <= upper_1) & (code_1 <= high) else -0.0
            sums[_TILE + _TILE + s] += weight if (low <= upper_2) & (code_2 <= high) else -0.0
            sums[_TILE + _TILE + _TILE + s] += weight if (low <= upper_3) & (code_3 <= high) else -0.0


@inlined
def _asked(
    codes: NDArray[np.int32], uppers: NDArray[np.int32], field: int, i: int, count: int
) -> tuple[np.int32, np.int32]:
    """An event's codes of a field; codes that no range meets if it has none, or if there is no such event."""
    if i >= count or codes[i, field] < 0:
        return np.int32(-1), np.int32(-2147483648)
    return codes[i, field], uppers[i, field]


@inner
def _keep_best(work: Work, event: int, base: int, sums: NDArray[np.float64], top: int) -> None:
    """Put the subscriptions of a tile with high enough sums on an event's heap. `top` has the bits of the best sum.

    The heap has subscriptions of earlier tiles, which have lower numbers. So none replaces another with its score.
    """
    heaps = work.heaps
    kept = heaps.found[event]
    least = bits_of_float(heaps.scores[event, 0]) + 1 if kept == heaps.scores.shape[1] else np.int64(0)
    if top < least:
        return
    for s in range(len(sums)):
        if bits_of_float(sums[s]) >= least and is_alive(work, base + s):
            kept = keep(heaps, event, kept, sums[s], base + s)
    heaps.found[event] = kept


@inlined
def _highest(sums: NDArray[np.float64]) -> int:
    """The highest of a tile's scores, as bits."""
    top = np.int64(-1)
    for s in range(_TILE):
        top = max(top, bits_of_float(sums[s]))
    return top


@inner
def _weigh(
    tiles: Tiles,
    tile: int,
    codes: NDArray[np.int32],
    uppers: NDArray[np.int32],
    combine: int,
    sums: NDArray[np.float64],
) -> None:
    """Write the highest or lowest weights that hold for a tile's subscriptions.

    Scores are at least 0, so that their bits compare as they do. A negative value means that nothing holds.
    """
    fields, lows, highs, weights = tiles.fields, tiles.lows, tiles.highs, tiles.weights
    sums[:] = NOTHING if combine == MAX else np.inf
    for column in range(tiles.starts[tile], tiles.starts[tile + 1]):
        code = codes[fields[column]]
        if code < 0:
            continue
        upper = uppers[fields[column]]
        at = _TILE * np.uint64(column)
        if combine == MAX:
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
