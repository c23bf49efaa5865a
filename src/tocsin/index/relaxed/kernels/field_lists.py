"""Scan for relaxed rankings by lists: ranges by field, and sums, if each subscription asks for few of many fields.

A tile is 65,536 subscriptions, whose sums stay in the cache. A field's list in a tile has the ranges that the tile's
subscriptions ask for. An event walks the lists of its fields in the order that weights are added. As in `tiles`,
several events take a tile together.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.relaxed.kernels.layouts import FIELD, HIGH, LOW, MAX, ROW, SUM, Dimensions, Work
from tocsin.index.relaxed.kernels.one_by_one import is_alone
from tocsin.index.relaxed.kernels.weighing import NOTHING, is_alive, keep
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import bits_of_float, float_of_bits
from tocsin.jit.views import viewed

TILE_BITS: Final = 16
TILE: Final = 1 << TILE_BITS
_SOME: Final = 1024
"""Ranges whose weights are written side by side."""

_FEW: Final = 8
"""If a tile has at least this many subscriptions for each range examined, only those met are looked up."""


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
    dimensions = viewed(dimensions)
    starts, rows = dimensions.starts, dimensions.rows
    subscriptions = len(starts) - 1
    out = np.zeros(((subscriptions + TILE - 1) >> TILE_BITS) * fields + 1, np.int64)
    for s in range(subscriptions):
        if not is_alone(rows, starts[s], starts[s + 1]):
            for d in range(starts[s], starts[s + 1]):
                out[(s >> TILE_BITS) * fields + rows[ROW * d + FIELD] + 1] += 1
    for i in range(1, len(out)):
        out[i] += out[i - 1]
    return out


@kernel
def fill_lists(dimensions: Dimensions, fields: int, lists: FieldLists) -> None:
    """Write the lists."""
    dimensions, lists = viewed(dimensions), viewed(lists)
    starts, rows = dimensions.starts, dimensions.rows
    ends = lists.starts[:-1].copy()
    for s in range(len(starts) - 1):
        if is_alone(rows, starts[s], starts[s + 1]):
            continue
        for d in range(starts[s], starts[s + 1]):
            of = (s >> TILE_BITS) * fields + rows[ROW * d + FIELD]
            at = ends[of]
            ends[of] = at + 1
            lists.lows[at], lists.highs[at] = rows[ROW * d + LOW], rows[ROW * d + HIGH]
            lists.owners[at], lists.weights[at] = s & (TILE - 1), dimensions.weights[d]


@kernel
def best_by_lists(lists: FieldLists, work: Work, events: NDArray[np.int64]) -> None:
    """Put the best of some events on their heaps."""
    lists, work = viewed(lists), viewed(work)
    subscriptions, combine, counts = len(work.dimensions.starts) - 1, work.asked.combine, work.heaps.counts
    nothing = -0.0 if combine == SUM else NOTHING if combine == MAX else np.inf
    sums, some = np.full(TILE, nothing), np.empty(_SOME, np.float64)
    for event in events:
        work.heaps.found[event] = 0
    for tile in range((subscriptions + TILE - 1) >> TILE_BITS):
        size = min(TILE, subscriptions - (tile << TILE_BITS))
        for event in events:
            walked = _add_all(lists, work, tile, event, nothing, sums, some)
            counts[0] += walked
            if _FEW * walked > size:
                _keep_worth(work, event, tile, sums[:size], nothing)
            else:
                _keep_met(lists, work, tile, event, sums, nothing)


@inlined
def _add_all(
    lists: FieldLists,
    work: Work,
    tile: int,
    event: int,
    nothing: float,
    sums: NDArray[np.float64],
    some: NDArray[np.float64],
) -> int:
    """Add the weights of a tile's ranges that hold for an event to the sums; returns how many ranges were examined."""
    asked, fields = work.asked, len(work.values.codes)
    walked = np.int64(0)
    for i in range(asked.starts[event], asked.starts[event + 1]):
        of = tile * fields + asked.fields[i]
        _add(lists, of, asked.codes[i], asked.uppers[i], asked.combine, nothing, sums, some)
        walked += lists.starts[of + 1] - lists.starts[of]
    return walked


@inner
def _keep_worth(work: Work, event: int, tile: int, sums: NDArray[np.float64], nothing: float) -> None:
    """Put the subscriptions of a tile with high enough sums on the heap, and reset the sums.

    The heap has subscriptions of earlier tiles, which have lower numbers. So none replaces another with its score.
    """
    heaps = work.heaps
    kept, base = heaps.found[event], tile << TILE_BITS
    worst = heaps.scores[event, 0] if kept == heaps.scores.shape[1] else NOTHING
    if _weighed(sums, nothing, heaps.counts) > worst:
        for s in range(len(sums)):
            if _is_worth(sums[s], nothing, worst) and is_alive(work, base + s):
                kept = keep(heaps, event, kept, sums[s], base + s)
    sums[:] = nothing
    heaps.found[event] = kept


@inner
def _keep_met(lists: FieldLists, work: Work, tile: int, event: int, sums: NDArray[np.float64], nothing: float) -> None:
    """The same, by the ranges that were walked: if these are few, most sums are empty."""
    asked, heaps, fields = work.asked, work.heaps, len(work.values.codes)
    kept, base, held = heaps.found[event], tile << TILE_BITS, np.int64(0)
    for i in range(asked.starts[event], asked.starts[event + 1]):
        of = tile * fields + asked.fields[i]
        for j in range(lists.starts[of], lists.starts[of + 1]):
            own = np.uint64(lists.owners[j])
            if bits_of_float(sums[own]) != bits_of_float(nothing):
                held += 1
                number = base + np.int64(own)
                if is_alive(work, number):
                    kept = keep(heaps, event, kept, sums[own], number)
                sums[own] = nothing
    heaps.counts[1] += held
    heaps.found[event] = kept


@inlined
def _add(
    lists: FieldLists,
    of: int,
    code: int,
    upper: int,
    combine: int,
    nothing: float,
    sums: NDArray[np.float64],
    some: NDArray[np.float64],
) -> None:
    """Combine the weights of a list's ranges that hold with their subscriptions' sums.

    Some weights are first written side by side, several in one instruction. Adding -0.0 changes no sum.
    """
    lows, highs, owners, weights = lists.lows, lists.highs, lists.owners, lists.weights
    first, stop = np.uint64(lists.starts[of]), np.uint64(lists.starts[of + 1])
    while first < stop:
        size = min(stop - first, np.uint64(_SOME))
        for j in range(size):
            holds = (lows[first + j] <= upper) & (code <= highs[first + j])
            some[j] = weights[first + j] if holds else nothing
        for j in range(size):
            own = np.uint64(owners[first + j])
            if combine == SUM:
                sums[own] += some[j]
            elif combine == MAX:
                sums[own] = max(sums[own], some[j])
            else:
                sums[own] = min(sums[own], some[j])
        first += size


@inlined
def _weighed(sums: NDArray[np.float64], nothing: float, counts: NDArray[np.int64]) -> float:
    """The best of a tile's sums, below 0 if nothing holds. Counts the subscriptions with a dimension that holds."""
    top, held = np.int64(-1), np.int64(0)
    empty = bits_of_float(nothing)
    for s in range(np.uint64(len(sums))):
        bits = bits_of_float(sums[s])
        held += np.int64(bits != empty)
        top = max(top, bits if bits != empty else np.int64(-1))
    counts[1] += held
    return float_of_bits(top) if top >= 0 else NOTHING


@inlined
def _is_worth(score: float, nothing: float, worst: float) -> bool:
    """Whether any dimension holds, and the score suffices.

    -0.0 means that none holds; its bits differ from a weight of 0.
    """
    return bits_of_float(score) != bits_of_float(nothing) and score > worst
