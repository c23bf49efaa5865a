"""Kernels of tiles: packed boxes of the rectangles over a tile, tested by mask, then compacted.

A grid divides a pair of axes into tiles; each side is a power of two codes. A tile lists the rectangles over any part
of it, with the part that they cover. That is four small numbers of at most 7 bits, one byte each, so that one
subtraction compares all four without a borrow. If a tile has more than 128 codes a side, these are rounded outwards,
and what passes is compared with the rectangle itself.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, Coming, meets
from tocsin.index.filtering.kernels.matching import NOT_IN_ORDER
from tocsin.index.rectangles.kernels.layouts import EventRanges, Groups, RectangleTables, Seen
from tocsin.index.rectangles.kernels.matching import SEVERAL, asked_of, find_by_scan, only_pair, register
from tocsin.index.rectangles.kernels.reading import forget_axes, read_axes
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.compacting import AT_ONCE, write_flagged

BITS: Final = 7
"""Bits of a side of a packed box."""

_HIGH = np.uint32(0x80808080)
_LAST = np.int64((1 << BITS) - 1)


class Tiles(NamedTuple):
    """Grids of tiles. R grids, T tiles, E entries, S subscriptions."""

    grid_starts: NDArray[np.int32]  # (pairs + 1,) grids [starts[g], starts[g + 1]) are of pair g
    shifts_x: NDArray[np.int64]  # (R,) tiles are 2 ** shift codes wide
    shifts_y: NDArray[np.int64]  # (R,)
    columns: NDArray[np.int64]  # (R,)
    rows: NDArray[np.int64]  # (R,)
    tile_starts: NDArray[np.int64]  # (R + 1,) tile of column x and row y of grid r is tile_starts[r] + y * columns + x
    starts: NDArray[np.int64]  # (T + 1,) tile t has entries [starts[t], starts[t + 1])
    owners: NDArray[np.int32]  # (E,) subscriptions, ascending within a tile
    packed: NDArray[np.uint32]  # (E,) left, lower, and the distances of right and upper from the last, 7 bits each


@inlined
def _within(code: int, tile: int, shift: int) -> int:
    """A code's position in a tile, in units of 7 bits; codes outside are clipped to the edge."""
    inside: int = min(max(code - (np.int64(tile) << shift), np.int64(0)), (np.int64(1) << shift) - 1)
    return inside >> max(shift - BITS, 0)


@inlined
def _packed(left: int, lower: int, right: int, upper: int) -> int:
    return np.uint32(
        np.uint32(left)
        | np.uint32(lower) << np.uint32(8)
        | np.uint32(_LAST - right) << np.uint32(16)
        | np.uint32(_LAST - upper) << np.uint32(24)
    )


@kernel
def count_entries(
    tiles: Tiles, grid: int, members: NDArray[np.int32], rectangles: NDArray[np.int32], counts: NDArray[np.int64]
) -> None:
    """Add the number of members over each tile of a grid. Cost: linear in the entries."""
    base, columns = tiles.tile_starts[grid], tiles.columns[grid]
    sx, sy = tiles.shifts_x[grid], tiles.shifts_y[grid]
    for i in range(len(members)):
        one = members[i]
        for y in range(rectangles[one, LOWER] >> sy, (rectangles[one, UPPER] >> sy) + 1):
            for x in range(rectangles[one, LEFT] >> sx, (rectangles[one, RIGHT] >> sx) + 1):
                counts[base + y * columns + x] += 1


@kernel
def write_entries(
    tiles: Tiles, grid: int, members: NDArray[np.int32], rectangles: NDArray[np.int32], places: NDArray[np.int64]
) -> None:
    """Write the entries of a grid, each tile's from its position in `places` on, which advances."""
    base, columns = tiles.tile_starts[grid], tiles.columns[grid]
    sx, sy = tiles.shifts_x[grid], tiles.shifts_y[grid]
    owners, packed = tiles.owners, tiles.packed
    for i in range(len(members)):
        one = members[i]
        left, lower, right, upper = rectangles[one]
        for y in range(lower >> sy, (upper >> sy) + 1):
            low, high = _within(lower, y, sy), _within(upper, y, sy)
            for x in range(left >> sx, (right >> sx) + 1):
                tile = base + y * columns + x
                place = places[tile]
                places[tile] = place + 1
                owners[place] = one
                packed[place] = _packed(_within(left, x, sx), low, _within(right, x, sx), high)


@inlined
def _tile_at(tiles: Tiles, grid: int, x: int, y: int) -> int:
    return tiles.tile_starts[grid] + y * tiles.columns[grid] + x


@inlined
def _question(tiles: Tiles, grid: int, x: int, y: int, asked: EventRanges) -> int:
    """An event's box in a tile, as the number from which packed boxes are subtracted.

    A box that meets the event begins before its end and ends after its beginning, so the event's own sides are swapped.
    """
    sx, sy = tiles.shifts_x[grid], tiles.shifts_y[grid]
    left, right = _within(asked.left, x, sx), _within(asked.right, x, sx)
    lower, upper = _within(asked.lower, y, sy), _within(asked.upper, y, sy)
    return np.uint32(_packed(right, upper, left, lower) | _HIGH)


@inlined
def _mask(tiles: Tiles, tile: int, question: int, flags: NDArray[np.uint8]) -> tuple[int, int]:
    """Write for each entry of a tile whether its packed box meets the event; returns the first entry, and how many."""
    first = np.int64(tiles.starts[tile])
    count = np.int64(tiles.starts[tile + 1]) - first
    asked = np.uint32(question)
    packed = tiles.packed[first : first + count]
    for i in range(np.uint64(count)):
        flags[i] = np.uint8(np.uint32(np.uint32(asked - packed[i]) & _HIGH) == _HIGH)
    return first, count


@inlined
def _is_exact(tiles: Tiles, grid: int) -> bool:
    return tiles.shifts_x[grid] <= BITS and tiles.shifts_y[grid] <= BITS


@inlined
def one_tile(tiles: Tiles, group: int, asked: EventRanges) -> tuple[int, int]:
    """The only tile that an event lies in, and its question there; SEVERAL if there is no such tile."""
    grid = np.int64(tiles.grid_starts[group])
    if tiles.grid_starts[group + 1] - grid != 1:
        return np.int64(SEVERAL), np.int64(0)
    sx, sy = tiles.shifts_x[grid], tiles.shifts_y[grid]
    x, y = asked.left >> sx, asked.lower >> sy
    if asked.right >> sx != x or asked.upper >> sy != y:
        return np.int64(SEVERAL), np.int64(0)
    return np.int64(_tile_at(tiles, grid, x, y)), np.int64(_question(tiles, grid, x, y, asked))


@inner
def find_one_tile(
    tiles: Tiles, group: int, asked: EventRanges, flags: NDArray[np.uint8], out: NDArray[np.int32], at: int
) -> int:
    """`find_alone` if the pair has one exact grid, and the event lies in one tile."""
    tile, question = one_tile(tiles, group, asked)
    if tile == SEVERAL or not _is_exact(tiles, np.int64(tiles.grid_starts[group])):
        return np.int64(NOT_IN_ORDER)
    most = tiles.starts[tile + 1] - tiles.starts[tile] + AT_ONCE
    if at + most > len(out):
        return np.int64(NOT_IN_ORDER - most)
    first, count = _mask(tiles, tile, question, flags)
    return write_flagged(tiles.owners[first : first + count], flags, out, at)


class Located(NamedTuple):
    """The tile that each event of a batch lies in. E events."""

    places: NDArray[np.int64]  # (E,) the tile, below 0 for none
    questions: NDArray[np.uint32]  # (E,) the numbers from which packed boxes are subtracted
    asked: Annotated[NDArray[np.int32], 2]  # (E, 4) LEFT .. UPPER, as codes; (0, 4) if not needed


@kernel
def locate_events(tiles: Tiles, tables: RectangleTables, coming: Coming, memory: Seen, located: Located) -> bool:
    """Write each event's tile; returns whether every event lies in at most one."""
    held, own, given, seen, out = viewed(tiles), viewed(tables), viewed(coming), viewed(memory), viewed(located)
    grid = own.groups
    for event in range(len(out.places)):
        touched = read_axes(own, given, event, seen)
        pair = only_pair(grid, seen, touched)
        place, question = int(pair), 0
        if pair >= 0:
            asked = asked_of(grid, seen, pair)
            place, question = one_tile(held, pair, asked)
            if len(out.asked) > 0:
                out.asked[event, LEFT], out.asked[event, LOWER] = asked.left, asked.lower
                out.asked[event, RIGHT], out.asked[event, UPPER] = asked.right, asked.upper
        forget_axes(own, seen, touched)
        if place == SEVERAL:
            return False
        out.places[event], out.questions[event] = place, np.uint32(question)
    return True


@kernel
def locate_points(tiles: Tiles, grid: int, xs: NDArray[np.int32], ys: NDArray[np.int32], located: Located) -> None:
    """Write the tiles of points in a grid, by their codes on its axes."""
    held, out = viewed(tiles), viewed(located)
    sx, sy = held.shifts_x[grid], held.shifts_y[grid]
    for point in range(len(xs)):
        x, y = np.int64(xs[point]), np.int64(ys[point])
        column, row = x >> sx, y >> sy
        out.places[point] = _tile_at(held, grid, column, row)
        out.questions[point] = _question(held, grid, column, row, EventRanges(x, y, x, y, np.int64(0)))


@kernel
def count_in_tiles(tiles: Tiles, order: NDArray[np.int64], located: Located) -> NDArray[np.int64]:
    """Where the matches of each event of a batch begin, and where the last end, by packed boxes."""
    held, given = viewed(tiles), viewed(located)
    starts, packed = held.starts, held.packed
    places, questions = given.places, given.questions
    begins = np.zeros(len(places) + 1, np.int64)
    for event in order:
        tile = places[event]
        if tile < 0:
            continue
        own = packed[starts[tile] : starts[tile + 1]]
        asked = questions[event]
        found = np.uint32(0)
        for i in range(np.uint64(len(own))):
            found += np.uint32(np.uint32(np.uint32(asked - own[i]) & _HIGH) == _HIGH)
        begins[event + 1] = np.int64(found)
    for event in range(len(places)):
        begins[event + 1] += begins[event]
    return begins


@kernel
def write_in_tiles(
    tiles: Tiles,
    order: NDArray[np.int64],
    located: Located,
    begins: NDArray[np.int64],
    flags: NDArray[np.uint8],
    hits: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the matches counted by `count_in_tiles`.

    Compaction writes past its end, so it goes to `hits` and is copied.

    `flags` and `hits` have room for any tile, and `hits` for AT_ONCE more.
    """
    held, given = viewed(tiles), viewed(located)
    places, questions, owners = given.places, given.questions, held.owners
    for event in order:
        tile = places[event]
        if tile < 0:
            continue
        first, count = _mask(held, tile, questions[event], flags)
        write_flagged(owners[first : first + count], flags, hits, np.int64(0))
        begin = np.uint64(begins[event])
        for i in range(np.uint64(begins[event + 1]) - begin):
            out[begin + i] = hits[i]


@kernel
def keep_met(
    rectangles: NDArray[np.int32], located: Located, begins: NDArray[np.int64], numbers: NDArray[np.int32]
) -> int:
    """Keep only rectangles that events really meet, compacted; `begins` are updated. Returns how many."""
    asked = viewed(located).asked
    written = np.uint64(0)
    for event in range(len(begins) - 1):
        first, stop = np.uint64(begins[event]), np.uint64(begins[event + 1])
        begins[event] = np.int64(written)
        own = EventRanges(
            np.int64(asked[event, LEFT]),
            np.int64(asked[event, LOWER]),
            np.int64(asked[event, RIGHT]),
            np.int64(asked[event, UPPER]),
            np.int64(0),
        )
        for i in range(first, stop):
            one = np.uint64(numbers[i])
            numbers[written] = numbers[i]
            written += np.uint64(meets(rectangles, one, own))
    begins[-1] = np.int64(written)
    return np.int64(written)


@inner
def find_in_tiles(tiles: Tiles, groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """`find`: search all tiles that an event lies over or, if these outnumber the rectangles, scan the rectangles."""
    first_grid, last_grid = tiles.grid_starts[group], tiles.grid_starts[group + 1]
    visits = np.int64(0)
    for grid in range(first_grid, last_grid):
        sx, sy = tiles.shifts_x[grid], tiles.shifts_y[grid]
        wide, high = (asked.right >> sx) - (asked.left >> sx) + 1, (asked.upper >> sy) - (asked.lower >> sy) + 1
        visits = max(visits, wide * high)
    if 4 * visits > groups.starts[group + 1] - groups.starts[group] and visits > 1:
        return np.int64(find_by_scan(groups, group, asked, seen, found))
    rectangles, stamps, hits, flags = groups.rectangles, seen.stamps, seen.hits, seen.flags
    for grid in range(first_grid, last_grid):
        sx, sy = tiles.shifts_x[grid], tiles.shifts_y[grid]
        exact = _is_exact(tiles, np.int64(grid))
        for y in range(asked.lower >> sy, (asked.upper >> sy) + 1):
            for x in range(asked.left >> sx, (asked.right >> sx) + 1):
                question = _question(tiles, np.int64(grid), np.int64(x), np.int64(y), asked)
                first, count = _mask(tiles, _tile_at(tiles, np.int64(grid), x, y), question, flags)
                if exact and visits == 1:
                    found += write_flagged(tiles.owners[first : first + count], flags, hits, np.int64(found))
                    continue
                for i in range(count):
                    if flags[i] == 0:
                        continue
                    one = np.uint64(tiles.owners[first + i])
                    if not exact and not meets(rectangles, one, asked):
                        continue
                    if visits > 1:
                        if stamps[one] == asked.stamp:
                            continue
                        stamps[one] = asked.stamp
                    hits[found] = one
                    found += 1
    return np.int64(found)


register(Tiles, find_in_tiles, find_one_tile)
