"""Of which subscriptions do most dimensions hold, where each asks for few of many fields? Lists by field, and sums.

A tile is 16,384 subscriptions, whose sums stay in the cache; a field's list in a tile are the ranges of it that the
tile's subscriptions ask for. An event walks the lists of its fields, in the order that weights are added, for several
events at once as in `tiles`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.one_by_one import is_alone
from tocsin.index.relaxed.kernels.threshold import Asked
from tocsin.index.relaxed.kernels.weighing import FIELD, HIGH, LOW, MAX, NOTHING, ROW, SUM, Dimensions, keep
from tocsin.kernels.jit import bits_of_float, float_of_bits, inlined, kernel
from tocsin.kernels.packing import borrowed

TILE_BITS: Final = 16
TILE: Final = 1 << TILE_BITS

_FEW: Final = 8
"""Where a tile has so many subscriptions for each range that is looked at, only those that are met are looked up."""


class FieldLists(NamedTuple):
    """Ranges by tile, then field, then subscription. T tiles, F fields, N ranges."""

    starts: NDArray[np.int64]  # (T F + 1,) the ranges of field f in tile t are [starts[t F + f], starts[t F + f + 1])
    lows: NDArray[np.int32]  # (N,)
    highs: NDArray[np.int32]  # (N,)
    owners: NDArray[np.uint16]  # (N,) the subscription, counted from the tile's first
    weights: NDArray[np.float64]  # (N,)


@kernel
def count_ranges(dimensions: Dimensions, fields: int) -> NDArray[np.int64]:
    """Where each list begins."""
    subscriptions = len(dimensions.starts) - 1
    starts = np.zeros(((subscriptions + TILE - 1) >> TILE_BITS) * fields + 1, np.int64)
    for s in range(subscriptions):
        first, stop = dimensions.starts[s], dimensions.starts[s + 1]
        if not is_alone(dimensions.rows, first, stop):
            for d in range(first, stop):
                starts[(s >> TILE_BITS) * fields + dimensions.rows[ROW * d + FIELD] + 1] += 1
    for i in range(1, len(starts)):
        starts[i] += starts[i - 1]
    return starts


@kernel
def fill_lists(dimensions: Dimensions, fields: int, lists: FieldLists) -> None:
    """Write the lists."""
    ends = lists.starts[:-1].copy()
    for s in range(len(dimensions.starts) - 1):
        first, stop = dimensions.starts[s], dimensions.starts[s + 1]
        if is_alone(dimensions.rows, first, stop):
            continue
        for d in range(first, stop):
            of = (s >> TILE_BITS) * fields + dimensions.rows[ROW * d + FIELD]
            at = ends[of]
            ends[of] = at + 1
            lists.lows[at], lists.highs[at] = dimensions.rows[ROW * d + LOW], dimensions.rows[ROW * d + HIGH]
            lists.owners[at], lists.weights[at] = s & (TILE - 1), dimensions.weights[d]


@kernel
def best_by_lists(
    subscriptions: int,
    fields: int,
    lists: FieldLists,
    asked: Asked,
    events: NDArray[np.int64],
    scores: NDArray[np.float64],
    numbers: NDArray[np.int32],
    found: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Put the best of some events on their heaps, and how many into `found`.

    Adds to `counts`: ranges looked at, subscriptions of which any holds.
    """
    lists, asked, events, scores, numbers, found, counts = borrowed(
        (lists, asked, events, scores, numbers, found, counts)
    )
    list_starts, lows, highs, owners, weights = lists
    own_starts, own_fields, own_codes, own_uppers, _, _, alive, combine, _, _, _ = asked
    nothing = -0.0 if combine == SUM else NOTHING if combine == MAX else np.inf
    sums = np.full(TILE, nothing)
    found[events] = 0
    for tile in range((subscriptions + TILE - 1) >> TILE_BITS):
        base = tile << TILE_BITS
        size = min(TILE, subscriptions - base)
        for event in events:
            walked = np.int64(0)
            for i in range(own_starts[event], own_starts[event + 1]):
                of = tile * fields + own_fields[i]
                first, stop = np.uint64(list_starts[of]), np.uint64(list_starts[of + 1])
                code, upper = own_codes[i], own_uppers[i]
                walked += np.int64(stop - first)
                _add(lows, highs, owners, weights, first, stop, code, upper, combine, sums)
            counts[0] += walked
            best_scores, best_numbers, kept = scores[event], numbers[event], found[event]
            if _FEW * walked > size:
                worst = best_scores[0] if kept == len(best_scores) else 0.0
                if _weighed(sums, size, nothing, counts) >= worst:
                    for s in range(size):
                        if _is_worth(sums[s], nothing, worst):
                            kept = _offer(sums[s], base + s, alive, best_scores, best_numbers, kept)
                sums[:size] = nothing
            else:
                for i in range(own_starts[event], own_starts[event + 1]):
                    of = tile * fields + own_fields[i]
                    for j in range(np.uint64(list_starts[of]), np.uint64(list_starts[of + 1])):
                        own = np.uint64(owners[j])
                        if bits_of_float(sums[own]) != bits_of_float(nothing):
                            counts[1] += 1
                            kept = _offer(sums[own], base + np.int64(own), alive, best_scores, best_numbers, kept)
                            sums[own] = nothing
            found[event] = kept


@inlined
def _add(
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    owners: NDArray[np.uint16],
    weights: NDArray[np.float64],
    first: int,
    stop: int,
    code: int,
    upper: int,
    combine: int,
    sums: NDArray[np.float64],
) -> None:
    """Put the weights of a list's ranges that hold to what their subscriptions have; -0.0 changes no sum."""
    if combine == SUM:
        for j in range(first, stop):
            own = np.uint64(owners[j])
            sums[own] += _weight(weights[j], lows[j] <= upper, code <= highs[j], -0.0)
    elif combine == MAX:
        for j in range(first, stop):
            own = np.uint64(owners[j])
            sums[own] = max(sums[own], _weight(weights[j], lows[j] <= upper, code <= highs[j], NOTHING))
    else:
        for j in range(first, stop):
            own = np.uint64(owners[j])
            sums[own] = min(sums[own], _weight(weights[j], lows[j] <= upper, code <= highs[j], np.inf))


@inlined
def _weight(weight: float, starts: bool, ends: bool, otherwise: float) -> float:
    """The weight of a range that holds, without a branch, which nothing could foretell."""
    mask = -np.int64(starts & ends)
    return float_of_bits((bits_of_float(weight) & mask) | (bits_of_float(otherwise) & ~mask))


@inlined
def _weighed(sums: NDArray[np.float64], size: int, nothing: float, counts: NDArray[np.int64]) -> float:
    """The best of a tile's sums, below 0 where nothing holds; counts those of which anything does."""
    top, held = np.int64(-1), np.int64(0)
    empty = bits_of_float(nothing)
    for s in range(np.uint64(size)):
        bits = bits_of_float(sums[s])
        held += np.int64(bits != empty)
        top = max(top, bits if bits != empty else np.int64(-1))
    counts[1] += held
    return float_of_bits(top) if top >= 0 else NOTHING


@inlined
def _is_worth(score: float, nothing: float, worst: float) -> bool:
    """Whether anything holds, and enough of it; -0.0 says that nothing does, which its bits tell from a weight of 0."""
    return bits_of_float(score) != bits_of_float(nothing) and score >= worst


@inlined
def _offer(
    score: float,
    number: int,
    alive: NDArray[np.uint64],
    best_scores: NDArray[np.float64],
    best_numbers: NDArray[np.int32],
    kept: int,
) -> int:
    """Keep a subscription if it lives and is among the best; how many are kept."""
    at = np.uint64(number)
    if (alive[at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1):
        return keep(best_scores, best_numbers, kept, score, number)
    return kept
