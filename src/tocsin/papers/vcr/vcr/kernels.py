"""The paper's algorithms: decomposition of a rectangle into VCRs, and search for those that may cover a point.

A VCR (x, y, 2^i, 2^j) has its corner at (x, y). Its width and height are powers of two, up to the sides Lx and Ly. Its
number is B (x + y Rx) + j (kx + 1) + i, where B is the number of VCRs with the same corner (equation 1). All numbers
refer to a map with a margin of Lx and Ly below and on the left, so that the paper's boundary conditions never apply.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.rectangles.kernels.layouts import EventRanges, Groups, Seen
from tocsin.index.rectangles.kernels.matching import find_by_scan, register
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.kernels.numbers import scattered
from tocsin.kernels.sorting import sort_numbers

ARRAY: Final = 0
"""In place of a prime: the lists of all VCRs of the map are stored, and found by their number."""

UNUSED: Final = np.int64(-1)


class VCRs(NamedTuple):
    """The subscriptions of each activated VCR. G pairs of axes, D distances, H places of lists, L list entries."""

    kxs: NDArray[np.int64]  # (G,)
    kys: NDArray[np.int64]  # (G,)
    widths: NDArray[np.int64]  # (G,)
    primes: NDArray[np.int64]  # (G,) the size of a hash table, or ARRAY
    distance_starts: NDArray[np.int64]  # (G + 1,)
    distances: NDArray[np.int64]  # (D,) from the pivot to each VCR that may cover a cell
    place_starts: NDArray[np.int64]  # (G + 1,) where the places of a pair begin
    name_starts: NDArray[np.int64]  # (G + 1,) where the names of a pair begin; an array has none
    names: NDArray[np.int64]  # by place: the VCR, or -1
    starts: NDArray[np.int64]  # (H + 1,) by place: list [starts[p], starts[p + 1])
    owners: NDArray[np.int32]  # (L,)
    has_overlaps: NDArray[np.bool_]  # (G,) whether a subscription may be on several lists that cover a cell
    asks_between: NDArray[np.bool_]  # (G, 2) whether list entries must be compared for even, and for odd, codes


@inlined
def number_of(kx: int, ky: int, width: int, x: int, y: int, i: int, j: int) -> int:
    """Equation 1: the number of VCR (x, y, 2 ** i, 2 ** j)."""
    return (kx + 1) * (ky + 1) * (np.int64(x) + np.int64(y) * width) + j * (kx + 1) + i


@kernel
def distance_table(kx: int, ky: int, width: int, closed: bool) -> NDArray[np.int64]:
    """The distances from the number of a point's pivot VCR to those that may cover it, ascending (section 2.3.2).

    With `closed`, includes VCRs with the point on their right or upper edge, as in the paper: (2 Lx + kx)(2 Ly + ky)
    (Theorem 1). Otherwise only those that cover the unit cell at the point: (2 Lx - 1)(2 Ly - 1).
    """
    side_x, side_y = np.int64(1) << kx, np.int64(1) << ky
    edge = np.int64(0 if closed else 1)
    out = np.empty((2 * side_x + kx) * (2 * side_y + ky), np.int64)
    count = 0
    for y in range(side_y + 1):  # starting at the pivot (a - Lx, b - Ly)
        for x in range(side_x + 1):
            for j in range(ky + 1):
                for i in range(kx + 1):
                    if x + (np.int64(1) << i) >= side_x + edge and y + (np.int64(1) << j) >= side_y + edge:
                        out[count] = number_of(kx, ky, width, x, y, i, j)
                        count += 1
    sort_numbers(out, 0, count)
    return out[:count]


@inlined
def _largest(length: int, most: int) -> int:
    """The exponent of the largest power of two that is at most `length` and 2 ** most."""
    exponent = np.int64(0)
    while exponent < most and (np.int64(2) << exponent) <= length:
        exponent += 1
    return exponent


@kernel
def decompose(kx: int, ky: int, x: int, y: int, w: int, h: int, overlapped: bool, out: NDArray[np.int64]) -> int:
    """Write the VCRs (x, y, i, j) of a rectangle to the rows of `out`, as far as there is room; returns how many.

    Simple (Figure 2): strips of the greatest height from below, each of VCRs of the greatest width. Overlapped (section
    2.2.2): all of one size. The last VCR of a strip is moved left, and the last strip down, so that they end with the
    rectangle.
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
    """The number of VCRs that a side is divided into."""
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
    """The number of VCRs of each rectangle."""
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
    """Write the numbers of the VCRs of each rectangle of codes."""
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
    """The first place to look for a VCR: its number is scattered, then divided (section 2.2.3)."""
    return np.int64((scattered(number) >> np.uint64(20)) % np.uint64(prime))


@kernel
def place_numbers(numbers: NDArray[np.int64], prime: int, names: NDArray[np.int64]) -> NDArray[np.int64]:
    """Insert distinct VCRs into an empty hash table; returns their places."""
    places = np.empty(len(numbers), np.int64)
    for n in range(len(numbers)):
        place = _hashed(numbers[n], prime)
        while names[place] != UNUSED:
            place = place + 1 if place + 1 < prime else np.int64(0)
        names[place] = numbers[n]
        places[n] = place
    return places


@inlined
def _place_of(names: NDArray[np.int64], base: int, prime: int, number: int) -> int:
    """The place of a VCR's list within its pair of axes, or -1."""
    if prime == ARRAY:
        return np.int64(number)
    place = _hashed(number, prime)
    while names[base + place] != number:
        if names[base + place] == UNUSED:
            return np.int64(-1)
        place = place + 1 if place + 1 < prime else np.int64(0)
    return np.int64(place)


@inner
def find_in_vcrs(vcrs: VCRs, groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """`find`: reads the lists of all VCRs that may cover a cell. An event that is not a point is compared with all."""
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
