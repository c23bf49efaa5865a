"""The paper's index that changes: it finds what a look at all rectangles finds, whatever came and went."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduce.vcr.changing import ChangingVCR

WIDTH, HEIGHT = 12, 9


@st.composite
def rectangles(draw):
    left, lower = draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))
    return left, lower, draw(st.integers(1, WIDTH - left)), draw(st.integers(1, HEIGHT - lower))


@given(
    sides=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    overlapped=st.booleans(),
    changes=st.lists(st.tuples(st.integers(0, 15), rectangles()), max_size=40),
)
def test_it_finds_what_covers_a_point(sides, overlapped, changes):
    """Points on edges and corners included; one that comes again has gone before."""
    index, there = ChangingVCR(WIDTH, HEIGHT, *sides, overlapped=overlapped), {}
    for owner, rectangle in changes:
        if owner in there:
            index.delete(owner)
            del there[owner]
        else:
            index.insert(owner, rectangle)
            there[owner] = rectangle

    assert len(index) == len(there)
    for x in range(WIDTH + 1):
        for y in range(HEIGHT + 1):
            expected = [n for n, (a, b, w, h) in there.items() if a <= x <= a + w and b <= y <= b + h]
            assert index.find(x, y) == sorted(expected)


def test_many_come_and_go():
    """Lists that are longer than the first room, and entries that are used again."""
    index = ChangingVCR(300, 200, 3, 3)
    for owner in range(3000):
        index.insert(owner, (owner % 250, owner % 150, 1 + owner % 40, 1 + owner % 20))
    room = len(index._lists.nexts)
    for owner in range(3000):
        index.delete(owner)
        index.insert(owner, (0, 0, 300, 200) if owner % 1000 == 0 else (owner % 250, owner % 150, 1, 1))

    assert len(index.find(299, 199)) == 3
    assert len(index._lists.nexts) <= 2 * room
    with pytest.raises(ValueError, match="is there already"):
        index.insert(5, (0, 0, 1, 1))
    with pytest.raises(ValueError, match="has no area"):
        index.insert(9999, (0, 0, 0, 1))
    with pytest.raises(KeyError):
        index.delete(9999)
