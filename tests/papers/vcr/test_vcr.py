"""The VCR paper's figures, equations and theorems (Wu, Chen and Yu 2004)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.asking import compiled
from tocsin.columns.arrays import frozen
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import InvalidInput, UnsuitableIndex
from tocsin.index.rectangles.rectangles import Held
from tocsin.papers.vcr.vcr import VCRBuilder
from tocsin.papers.vcr.vcr.building import LARGEST_SIDE, _prime_from
from tocsin.papers.vcr.vcr.kernels import ARRAY, count_all_pieces, decompose, distance_table

exponents = st.integers(0, 4)


def number_of(kx: int, ky: int, width: int, x: int, y: int, i: int, j: int) -> int:
    """Equation 1."""
    return (kx + 1) * (ky + 1) * (x + y * width) + j * (kx + 1) + i


def pieces(rectangle: tuple[int, int, int, int], kx: int, ky: int, *, overlapped: bool) -> list[tuple[int, ...]]:
    """The VCRs of a rectangle (x, y, w, h), as (x, y, width, height)."""
    room = np.empty((rectangle[2] * rectangle[3], 4), np.int64)  # as many as cells
    count = decompose(kx, ky, *rectangle, overlapped, room)
    return [(x, y, 1 << i, 1 << j) for x, y, i, j in room[:count].tolist()]


def test_figure_3_simple_decomposition():
    """(3, 3, 11, 6) with sides of 4: two strips of 4 VCRs each."""
    assert pieces((3, 3, 11, 6), 2, 2, overlapped=False) == [
        (3, 3, 4, 4),
        (7, 3, 4, 4),
        (11, 3, 2, 4),
        (13, 3, 1, 4),
        (3, 7, 4, 2),
        (7, 7, 4, 2),
        (11, 7, 2, 2),
        (13, 7, 1, 2),
    ]


def test_figure_4_overlapped_decomposition():
    """The same in 6 VCRs of 4 by 4: the last of a strip begins at 10, the last strip at 5."""
    assert pieces((3, 3, 11, 6), 2, 2, overlapped=True) == [
        (3, 3, 4, 4),
        (7, 3, 4, 4),
        (10, 3, 4, 4),
        (3, 5, 4, 4),
        (7, 5, 4, 4),
        (10, 5, 4, 4),
    ]


def test_heights_of_strips():
    """Section 2.2.1: of a height of 5 the first strip has 4; of 10, 8; where Ly is 8."""
    assert pieces((0, 0, 1, 5), 0, 3, overlapped=False)[0][3] == 4
    assert pieces((0, 0, 1, 10), 0, 3, overlapped=False)[0][3] == 8


@given(exponents, exponents, st.integers(1, 70), st.integers(1, 70), st.booleans())
def test_pieces_cover_a_rectangle_and_no_more(kx, ky, w, h, overlapped):
    """Simple ones each cell once; the count is known before."""
    covered = np.zeros((h, w), np.int64)
    own = pieces((5, 9, w, h), kx, ky, overlapped=overlapped)
    for x, y, width, height in own:
        assert x >= 5 and y >= 9 and x + width <= 5 + w and y + height <= 9 + h
        assert width <= 1 << kx and height <= 1 << ky
        covered[y - 9 : y - 9 + height, x - 5 : x - 5 + width] += 1
    rectangle = frozen([[2 * 5 + 1, 2 * 9 + 1, 2 * (5 + w - 1) + 1, 2 * (9 + h - 1) + 1]], np.int32)

    assert covered.min() >= 1
    assert overlapped or covered.max() == 1
    assert not overlapped or len({piece[2:] for piece in own}) == 1
    assert count_all_pieces(kx, ky, frozen([0], np.int32), rectangle, overlapped).tolist() == [len(own)]


def covering(kx: int, ky: int, width: int, a: int, b: int) -> list[int]:
    """Equation 2 by trying all: the numbers of the VCRs that have a point within or on their edges."""
    lx, ly = 1 << kx, 1 << ky
    return sorted(
        number_of(kx, ky, width, x, y, i, j)
        for x in range(a - lx, a + 1)
        for y in range(b - ly, b + 1)
        for i in range(kx + 1)
        for j in range(ky + 1)
        if a <= x + (1 << i) <= a + lx and b <= y + (1 << j) <= b + ly
    )


@given(exponents, exponents)
def test_theorem_1_constant_size(kx, ky):
    """(2 Lx + kx)(2 Ly + ky) VCRs have a point that is not under boundary conditions."""
    table = distance_table(kx, ky, 1000, True)

    assert len(table) == ((2 << kx) + kx) * ((2 << ky) + ky)
    assert len(distance_table(kx, ky, 1000, False)) == ((2 << kx) - 1) * ((2 << ky) - 1)


@given(exponents, exponents, st.integers(100, 1000), st.integers(16, 80), st.integers(16, 80))
def test_theorem_2_identical_gap_pattern(kx, ky, width, a, b):
    """From the pivot of any point the same distances lead to all that cover it."""
    pivot = number_of(kx, ky, width, a - (1 << kx), b - (1 << ky), 0, 0)

    assert (pivot + distance_table(kx, ky, width, True)).tolist() == covering(kx, ky, width, a, b)


def test_the_pivot_does_not_cover_its_point():
    """Section 2.3.2: it is no member of the covering set, but for sides of 1."""
    assert distance_table(2, 2, 1000, True)[0] > 0


@given(st.integers(0, 5000))
def test_hash_tables_have_prime_sizes(least):
    """The first prime from a number on."""
    prime = _prime_from(least)

    assert prime >= max(least, 3)
    assert all(prime % divisor for divisor in range(2, math.isqrt(prime) + 1))


def test_sides_follow_the_subscriptions():
    """By default the power of two nearest to the average; where they are huge, the largest that is sensible."""
    texts = [f"x BETWEEN {n} AND {n + 15} AND y BETWEEN {n} AND {n + 3}" for n in range(200)]
    texts += [f"x = {n} AND y = {n}" for n in range(215)]
    vcrs = VCRBuilder().build(compiled(texts[:200])).structure
    huge = VCRBuilder().build(compiled([*texts, *(f"x BETWEEN 0 AND 214 AND y > {n}" for n in range(2000))])).structure

    assert (1 << vcrs.kxs[0], 1 << vcrs.kys[0]) == (16, 4) or vcrs.kxs[0] in (3, 4)
    assert 1 << huge.kxs[0] == LARGEST_SIDE


def test_arrays_and_hash_tables_hold_the_same_lists():
    """The option says which; by default the one that is not mostly empty."""
    texts = [f"x BETWEEN {n} AND {n + 5} AND y BETWEEN {n % 7} AND {n % 7 + 3}" for n in range(300)]
    held = Held.of(compiled(texts))
    array, table, auto = (VCRBuilder(8, 4, 0, hashed).build(compiled(texts)).structure for hashed in (0, 1, -1))

    assert len(held.groups.axes) == 1
    assert array.primes.tolist() == [ARRAY]
    assert table.primes[0] > 2
    assert len(array.owners) == len(table.owners) == len(auto.owners)
    assert len(table.names[table.names >= 0]) == int((np.diff(array.starts) > 0).sum())


def test_a_rectangle_of_too_many_pieces_is_refused():
    """Which subscription, how many, and what to do."""
    texts = [f"x = {n} AND y = {n}" for n in range(300)]
    texts += ["x BETWEEN 0 AND 299 AND y BETWEEN 0 AND 299"]

    with pytest.raises(UnsuitableIndex, match=r"made of 90,000 .* larger sides") as caught:
        VCRBuilder(lx=1, ly=1).build(compiled(texts))

    assert caught.value.number == 300


def test_what_would_not_fit_memory_is_refused():
    """Sides that need a huge table of distances, and an array for a huge map: how large, and what to do, are said."""
    texts = [f"x BETWEEN {n} AND {n + 5} AND y BETWEEN {n} AND {n + 3}" for n in range(12_000)]

    with pytest.raises(InvalidInput, match=r"sides of 32768 by 32768.*at most 1,048,576"):
        VCRBuilder(lx=32768, ly=32768)
    with pytest.raises(InvalidInput, match=r"hashed=0.* has [0-9,]+ virtual construct rectangles.* Leave hashed at -1"):
        VCRBuilder(lx=8, ly=4, hashed=0).build(compiled(texts))


def test_a_table_of_fixed_size_has_room_for_all():
    """With one place more than activated VCRs it still answers; with as many as there are, it says how many."""
    held = compiled([f"x BETWEEN {n} AND {n + 5} AND y BETWEEN {n % 7} AND {n + 3}" for n in range(200)])
    growing = VCRBuilder(lx=4, ly=2, hashed=1).build(held)
    activated = int((growing.structure.names >= 0).sum())

    full = VCRBuilder(lx=4, ly=2, places=activated + 1).build(held)
    assert len(full.structure.names) == activated + 1
    with pytest.raises(InvalidInput, match=rf"of {activated:,} places, and {activated:,} virtual"):
        VCRBuilder(lx=4, ly=2, places=activated).build(held)
    batch = encode_objects([(row, {"x": row, "y": row // 2}) for row in range(220)], Wanted(held.attributes))
    assert np.array_equal(full.match(batch).subscriptions, growing.match(batch).subscriptions)
