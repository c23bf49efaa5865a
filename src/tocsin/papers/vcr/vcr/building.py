"""Builds VCR lists: each rectangle is listed under the virtual construct rectangles (VCRs) that it decomposes into."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.errors import InvalidInput, UnsuitableIndex
from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.rectangles.kernels.layouts import Groups
from tocsin.index.rectangles.rectangles import Held
from tocsin.papers.vcr.vcr.kernels import (
    ARRAY,
    VCRs,
    count_all_pieces,
    distance_table,
    place_numbers,
    write_pieces,
)

LARGEST_SIDE: Final = 64
"""The largest default side: an event reads about 4 Lx Ly lists."""

MOST_PIECES: Final = 1 << 16
"""A rectangle with more pieces is refused."""

MOST_WALKED: Final = 1 << 20
"""The largest product of sides: an event reads four times as many lists."""

MOST_PLACES: Final = 1 << 28
"""The largest array of lists: 2 GB."""

SPARSE: Final = 8
"""With more places than this for each list entry, a hash table replaces the array, unless an array is requested."""

LOAD: Final = 2
"""Places of a hash table per activated VCR."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The options: largest sides (0: from the subscriptions), kind of decomposition, and kind of list lookup.

    `places` are those of the hash table; 0 chooses them by the number of activated VCRs.
    """

    lx: int = 0
    ly: int = 0
    overlapped: int = 0
    hashed: int = -1
    places: int = 0

    def __post_init__(self) -> None:
        for name, side in (("lx", self.lx), ("ly", self.ly)):
            if side < 0 or side & (side - 1) or side > 1 << 15:
                raise InvalidInput(
                    f"{name} of vcr is {side}; a side is a power of two up to {1 << 15}, or 0 to choose it by "
                    "the subscriptions."
                )
        if self.lx * self.ly > MOST_WALKED:
            raise InvalidInput(
                f"vcr has sides of {self.lx} by {self.ly}: for each event {4 * self.lx * self.ly:,} lists would be "
                f"looked at; lx times ly is at most {MOST_WALKED:,}."
            )
        if self.overlapped not in (0, 1) or self.hashed not in (-1, 0, 1):
            raise InvalidInput(
                f"vcr has overlapped={self.overlapped}, hashed={self.hashed}; overlapped is 0 or 1, and hashed 0, 1, "
                "or -1: where an array would be large and nearly empty."
            )
        if not 0 <= self.places <= MOST_PLACES or (self.places and self.hashed == 0):
            raise InvalidInput(
                f"vcr has places={self.places}, hashed={self.hashed}; places is the size of a hash table, up to "
                f"{MOST_PLACES:,}, or 0 to choose it by the subscriptions. An array (hashed=0) takes none."
            )


class _Lists(NamedTuple):
    """The lists of one pair of axes."""

    kx: int
    ky: int
    width: int
    prime: int
    distances: NDArray[np.int64]
    names: NDArray[np.int64]
    starts: NDArray[np.int64]  # (places + 1,)
    owners: NDArray[np.int32]
    has_overlaps: bool
    asks_between: tuple[bool, bool]


def build_vcrs(held: Held, sides: Sides) -> VCRs:
    """The lists of all pairs of axes. Raises `UnsuitableIndex` for a rectangle of too many VCRs."""
    own = [_lists_of(held, pair, sides) for pair in range(len(held.groups.axes))]
    place_starts = starts_of([len(one.starts) for one in own], len(own))
    lists_before = starts_of([len(one.owners) for one in own], len(own))
    return VCRs(
        kxs=frozen([one.kx for one in own], np.int64),
        kys=frozen([one.ky for one in own], np.int64),
        widths=frozen([one.width for one in own], np.int64),
        primes=frozen([one.prime for one in own], np.int64),
        distance_starts=starts_of([len(one.distances) for one in own], len(own)),
        distances=_joined([one.distances for one in own], np.int64),
        place_starts=place_starts,
        name_starts=starts_of([len(one.names) for one in own], len(own)),
        names=_joined([one.names for one in own], np.int64),
        starts=_joined([one.starts + before for one, before in zip(own, lists_before, strict=False)], np.int64),
        owners=_joined([one.owners for one in own], np.int32),
        has_overlaps=frozen([one.has_overlaps for one in own], np.bool_),
        asks_between=frozen(np.array([one.asks_between for one in own]).reshape(-1, 2), np.bool_),
    )


def _joined(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return frozen(np.concatenate([np.empty(0, dtype), *parts]), dtype)


def _lists_of(held: Held, pair: int, sides: Sides) -> _Lists:
    groups = held.groups
    members = groups.members[groups.starts[pair] : groups.starts[pair + 1]]
    rectangles = groups.rectangles
    cells = rectangles[members] >> 1
    kx = _exponent(sides.lx, cells[:, RIGHT] - cells[:, LEFT] + 1)
    ky = _exponent(sides.ly, cells[:, UPPER] - cells[:, LOWER] + 1)
    width, height = (
        (int(held.sizes[axes[pair]]) >> 1) + 1 + (1 << k) for axes, k in ((groups.axes, kx), (groups.seconds, ky))
    )
    overlapped = bool(sides.overlapped)
    counts = count_all_pieces(kx, ky, members, rectangles, overlapped)
    _refuse_many(members, counts, kx, ky)
    numbers = np.empty(int(counts.sum()), np.int64)
    write_pieces(kx, ky, width, members, rectangles, overlapped, starts_of(counts, len(counts)), numbers)
    order = np.argsort(numbers, kind="stable")
    owners = np.repeat(members, counts)[order]
    activated, firsts = np.unique(numbers[order], return_index=True)
    all_of_map = (kx + 1) * (ky + 1) * width * height
    is_sparse = all_of_map > SPARSE * len(owners)
    hashed = sides.hashed == 1 or sides.places > 0 or (sides.hashed == -1 and is_sparse)
    if not hashed and all_of_map > MOST_PLACES:
        raise InvalidInput(
            f"vcr was asked for an array (hashed=0), and this map has {all_of_map:,} virtual construct rectangles; "
            f"up to {MOST_PLACES:,} are allowed. Leave hashed at -1, or take index 'tiles'."
        )
    lists, size = (_in_table, _places_for(len(activated), sides)) if hashed else (_in_array, all_of_map)
    prime, names, starts, owners = lists(activated, np.append(firsts, len(owners)), owners, size)
    return _Lists(
        kx=kx,
        ky=ky,
        width=width,
        prime=prime,
        distances=distance_table(kx, ky, width, False),
        names=names,
        starts=starts,
        owners=frozen(owners, np.int32),
        has_overlaps=overlapped,
        asks_between=_asks_between(groups, members, held.sizes[[groups.axes[pair], groups.seconds[pair]]]),
    )


def _exponent(side: int, lengths: NDArray[np.int32]) -> int:
    """The exponent of a requested side, or of the power of two nearest to the average length."""
    if side:
        return side.bit_length() - 1
    mean = min(float(lengths.mean()), LARGEST_SIDE) if len(lengths) else 1.0
    return round(math.log2(mean))


def _refuse_many(members: NDArray[np.int32], counts: NDArray[np.int64], kx: int, ky: int) -> None:
    if counts.max(initial=0) > MOST_PIECES:
        raise UnsuitableIndex(
            f"its rectangle is made of {counts.max():,} virtual construct rectangles of up to {1 << kx} by {1 << ky}, "
            f"{MOST_PIECES:,} are allowed; give vcr larger sides lx and ly, or take index 'tiles'",
            int(members[int(np.argmax(counts))]),
        )


def _in_array(
    activated: NDArray[np.int64], firsts: NDArray[np.int64], owners: NDArray[np.int32], all_of_map: int
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Lists found by the number of their VCR."""
    lengths = np.zeros(all_of_map, np.int64)
    lengths[activated] = np.diff(firsts)
    return ARRAY, np.empty(0, np.int64), starts_of(lengths, all_of_map), owners


def _in_table(
    activated: NDArray[np.int64], firsts: NDArray[np.int64], owners: NDArray[np.int32], prime: int
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Lists found by hashing, in the order of their places in the table."""
    names = np.full(prime, -1, np.int64)
    places = place_numbers(activated, prime, names)
    lengths = np.zeros(prime, np.int64)
    lengths[places] = np.diff(firsts)
    starts = starts_of(lengths, prime)
    place_of_entry = np.repeat(places, np.diff(firsts))
    return prime, names, starts, owners[np.argsort(place_of_entry, kind="stable")]


def _places_for(activated: int, sides: Sides) -> int:
    """The size of a hash table, which always has an unused place, so that searches end."""
    if not sides.places:
        return _prime_from(LOAD * activated + 1)
    if sides.places <= activated:
        raise InvalidInput(
            f"vcr was asked for a hash table of {sides.places:,} places, and {activated:,} virtual construct "
            "rectangles are activated. Give it more places, or leave places at 0."
        )
    return sides.places


def _prime_from(least: int) -> int:
    """The first prime at or above a number. Cost: trial division, O(sqrt(n) log(n)) expected."""
    number = max(least, 3) | 1
    while any(number % divisor == 0 for divisor in range(3, int(number**0.5) + 1, 2)):
        number += 2
    return number


def _asks_between(groups: Groups, members: NDArray[np.int32], sizes: NDArray[np.int64]) -> tuple[bool, bool]:
    """Whether any rectangle was widened to whole cells; a cell is an operand and the values just before it.

    If so, list entries must be compared for values that are not operands (even codes), or for operands (odd codes).
    """
    own = groups.rectangles[members]
    lows, highs = own[:, [LEFT, LOWER]], own[:, [RIGHT, UPPER]]
    return bool((lows & 1 == 1).any()), bool(((highs & 1 == 0) & (highs < sizes - 1)).any())
