"""Which virtual construct rectangles is a rectangle made of, and which may cover a point? The paper's algorithms.

A VCR (x, y, 2^i, 2^j) has its corner at (x, y) and a width and a height that are powers of two, up to the sides Lx and
Ly. Its number is B (x + y Rx) + j (kx + 1) + i, where B is how many have one corner (equation 1). All numbers here are
of a map with a margin of Lx and Ly below and on the left, so that no point is under the paper's boundary conditions.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.rectangles.kernels.layouts import EventRanges, Groups, Seen
from tocsin.index.rectangles.kernels.matching import find_by_scan, register
from tocsin.kernels.jit import inlined, inner, kernel
from tocsin.kernels.numbers import scattered

ARRAY: Final = 0
"""Instead of a prime: the lists of a map's VCRs are all there, and found by their number."""

_UNUSED: Final = np.int64(-1)


class Map(NamedTuple):
    """The sides of a pair of axes' VCRs, and the map that they lie on, margin included."""

    kx: int  # Lx is 2 ** kx
    ky: int
    width: int  # Rx, with the margin


class VCRs(NamedTuple):
    """The subscriptions of each activated VCR. G pairs of axes, D distances, H places of lists, L list entries."""

    kxs: NDArray[np.int64]  # (G,)
    kys: NDArray[np.int64]  # (G,)
    widths: NDArray[np.int64]  # (G,)
    primes: NDArray[np.int64]  # (G,) the size of a hash table, or ARRAY
    distance_starts: NDArray[np.int64]  # (G + 1,)
    distances: NDArray[np.int64]  # (D,) from the pivot to each VCR that may cover a cell
    place_starts: NDArray[np.int64]  # (G + 1,) where the places of a pair begin
    name_starts: NDArray[np.int64]  # (G + 1,) the same of their names, which an array has none of
    names: NDArray[np.int64]  # by place: the VCR, or -1
    starts: NDArray[np.int64]  # (H + 1,) by place: list [starts[p], starts[p + 1])
    owners: NDArray[np.int32]  # (L,)
    has_overlaps: NDArray[np.bool_]  # (G,) whether a subscription may be on several lists that cover a cell
    asks_between: NDArray[np.bool_]  # (G, 2) whether what a list says of even, and of odd, codes must be compared


@inlined
def number_of(kx: int, ky: int, width: int, x: int, y: int, i: int, j: int) -> int:
    """Equation 1: the number of VCR (x, y, 2 ** i, 2 ** j)."""
    return (kx + 1) * (ky + 1) * (np.int64(x) + np.int64(y) * width) + j * (kx + 1) + i


@kernel
def distance_table(kx: int, ky: int, width: int, closed: bool) -> NDArray[np.int64]:
    """How far from a point's pivot VCR the numbers of those that may cover it lie, ascending (section 2.3.2).

    `closed`: also those that a point on their right or upper edge is in, as the paper has them: (2 Lx + kx)(2 Ly + ky)
    (Theorem 1). Else those that cover the unit cell at the point: (2 Lx - 1)(2 Ly - 1).
    """
    side_x, side_y = np.int64(1) << kx, np.int64(1) << ky
    edge = np.int64(0 if closed else 1)
    out = np.empty((2 * side_x + kx) * (2 * side_y + ky), np.int64)
    count = 0
    for y in range(side_y + 1):  # from the pivot (a - Lx, b - Ly) on
        for x in range(side_x + 1):
            for j in range(ky + 1):
                for i in range(kx + 1):
                    if x + (np.int64(1) << i) >= side_x + edge and y + (np.int64(1) << j) >= side_y + edge:
                        out[count] = number_of(kx, ky, width, x, y, i, j)
                        count += 1
    return np.sort(out[:count])


@inlined
def _largest(length: int, most: int) -> int:
    """The largest power of two that is at most a length, and at most 2 ** most: its exponent."""
    exponent = np.int64(0)
    while exponent < most and (np.int64(2) << exponent) <= length:
        exponent += 1
    return exponent


@kernel
def decompose(kx: int, ky: int, x: int, y: int, w: int, h: int, overlapped: bool, out: NDArray[np.int64]) -> int:
    """Write the VCRs (x, y, i, j) that make up a rectangle to the rows of `out`, as far as it has any; how many.

    Simple (Figure 2): strips as high as can be, from below, each of VCRs as wide as can be. Overlapped (section
    2.2.2): all of one size; the last of a strip is moved to the left, and the last strip down, to end with it.
    """
    count = 0
    i_first, j_first = _largest(w, kx), _largest(h, ky)
    done = np.int64(0)
    while done < h:
        j = j_first if overlapped else _largest(h - done, ky)
        bottom = min(done, h - (np.int64(1) << j))
        across = np.int64(0)
        while across < w:
            i = i_first if overlapped else _largest(w - across, kx)
            left = min(across, w - (np.int64(1) << i))
            if count < len(out):
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = x + left, y + bottom, i, j
            count += 1
            across = left + (np.int64(1) << i)
        done = bottom + (np.int64(1) << j)
    return count


@inlined
def count_pieces(length: int, most: int, overlapped: bool) -> int:
    """How many VCRs a side is cut into."""
    if overlapped:
        side = np.int64(1) << _largest(length, most)
        return (length + side - 1) // side
    count = length >> most
    rest = length & ((np.int64(1) << most) - 1)
    while rest > 0:
        count += rest & 1
        rest >>= 1
    return count


@kernel
def count_all_pieces(
    kx: int, ky: int, members: NDArray[np.int32], rectangles: NDArray[np.int32], overlapped: bool
) -> NDArray[np.int64]:
    """How many VCRs each of some rectangles is made of."""
    counts = np.empty(len(members), np.int64)
    for m in range(len(members)):
        left, lower, right, upper = rectangles[members[m]]
        across = count_pieces((right >> 1) - (left >> 1) + 1, kx, overlapped)
        counts[m] = across * count_pieces((upper >> 1) - (lower >> 1) + 1, ky, overlapped)
    return counts


@kernel
def write_pieces(
    kx: int,
    ky: int,
    width: int,
    members: NDArray[np.int32],
    rectangles: NDArray[np.int32],
    overlapped: bool,
    starts: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write the numbers of the VCRs that each rectangle of codes is made of."""
    widest = np.int64(0)
    for m in range(len(members)):
        widest = max(widest, starts[m + 1] - starts[m])
    room = np.empty((widest, 4), np.int64)
    for m in range(len(members)):
        left, lower, right, upper = rectangles[members[m]]
        x, y = np.int64(left >> 1), np.int64(lower >> 1)
        w, h = np.int64(right >> 1) - x + 1, np.int64(upper >> 1) - y + 1
        count = decompose(kx, ky, x + (np.int64(1) << kx), y + (np.int64(1) << ky), w, h, overlapped, room)
        for p in range(count):
            out[starts[m] + p] = number_of(kx, ky, width, room[p, 0], room[p, 1], room[p, 2], room[p, 3])


@inlined
def _hashed(number: int, prime: int) -> int:
    """Where to look for a VCR first: its number is scattered, then divided (section 2.2.3)."""
    return np.int64((scattered(number) >> np.uint64(20)) % np.uint64(prime))


@kernel
def place_numbers(numbers: NDArray[np.int64], prime: int, names: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each distinct VCR a place in an empty hash table; their places."""
    places = np.empty(len(numbers), np.int64)
    for n in range(len(numbers)):
        place = _hashed(numbers[n], prime)
        while names[place] != _UNUSED:
            place = place + 1 if place + 1 < prime else np.int64(0)
        names[place] = numbers[n]
        places[n] = place
    return places


@inlined
def _place_of(names: NDArray[np.int64], base: int, prime: int, number: int) -> int:
    """The place of a VCR's list among its pair's; -1 for none."""
    if prime == ARRAY:
        return np.int64(number)
    place = _hashed(number, prime)
    while names[base + place] != number:
        if names[base + place] == _UNUSED:
            return np.int64(-1)
        place = place + 1 if place + 1 < prime else np.int64(0)
    return np.int64(place)


@inner
def find_in_vcrs(vcrs: VCRs, groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """`find`: the lists of all VCRs that may cover a cell; where an event is no point, all rectangles are compared."""
    if asked.left != asked.right or asked.lower != asked.upper:
        return np.int64(find_by_scan(groups, group, asked, seen, found))
    kx, ky, width = vcrs.kxs[group], vcrs.kys[group], vcrs.widths[group]
    prime, base = vcrs.primes[group], vcrs.place_starts[group]
    pivot = number_of(kx, ky, width, asked.left >> 1, asked.lower >> 1, np.int64(0), np.int64(0))
    names_base, names = vcrs.name_starts[group], vcrs.names
    starts, owners, distances = vcrs.starts, vcrs.owners, vcrs.distances
    rectangles, stamps, hits = groups.rectangles, seen.stamps, seen.hits
    overlaps = vcrs.has_overlaps[group]
    compares = vcrs.asks_between[group, asked.left & 1] or vcrs.asks_between[group, asked.lower & 1]
    for d in range(vcrs.distance_starts[group], vcrs.distance_starts[group + 1]):
        place = _place_of(names, names_base, prime, pivot + distances[d])
        if place < 0:
            continue
        place += base
        for at in range(starts[place], starts[place + 1]):
            one = np.uint64(owners[at])
            if compares and not meets(rectangles, one, asked):
                continue
            if overlaps:
                if stamps[one] == asked.stamp:
                    continue
                stamps[one] = asked.stamp
            hits[found] = owners[at]
            found += 1
    return np.int64(found)


register(VCRs, find_in_vcrs)
