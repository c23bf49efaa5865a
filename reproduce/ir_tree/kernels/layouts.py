"""The layout of a changing IR-tree: a root for each code, and below it an R-tree with spare room in its nodes.

The interval tree above is fixed: a balanced tree over the codes of a domain, counted from 1, with the odd codes as
leaves. An interval is in the list of the highest code that it contains, which has the most trailing zeros. All
intervals of a list contain that code, so no extent in it has holes (Lemma 3.1), whatever is inserted or deleted.

A list is in order of (key, owner). It is an R-tree that grows like a B+-tree, so its leaves stay in order.

Paper: Machanavajjhala, Vee, Garofalakis, Shanmugasundaram 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined
from tocsin.jit.intrinsics import bits_of_float
from tocsin.jit.views import kind_of

# A node is a block: a header, then its entries. A row of `entries` has four numbers.
LOW: Final = 0  # the least code of the interval; above the leaves, of everything below
HIGH: Final = 1  # the greatest code
OWNER: Final = 2  # of an interval its own; above the leaves, with the row's key, a lower bound of everything below
LINK: Final = 3  # the interval's place, or the block below; a header has its count << LEVEL_BITS | its level
ROW: Final = 4
LEVEL_BITS: Final = 6
# A root's header has the extent and bound of its whole list; in other headers only LINK is used.

# Fields of `items` for each place.
GROUP: Final = 0  # FREE if the place is free
FIRST: Final = 1  # the interval's least code; for a free place, the next free one, or -1
LAST: Final = 2  # its greatest
HOLDER: Final = 3  # its owner
FREE: Final = -1

# Fields of `state`.
USED: Final = 0  # rows of `entries` ever used
PLACES: Final = 1  # places ever used
FREE_PLACE: Final = 2  # the first free place, or -1
COUNT: Final = 3  # number of intervals
BRANCHING: Final = 4  # entries that a node has room for, except in short lists
LEAST: Final = 5  # least entries of a node, except a root
LACKING: Final = 6  # the array without enough room: ENTRIES, ITEMS or SLOTS
FREE_BLOCKS: Final = 7  # + size: the first free block of a size, or -1; its header's LINK leads to the next
SIZES: Final = 12
STATE: Final = FREE_BLOCKS + SIZES

ENTRIES: Final = 1
ITEMS: Final = 2
SLOTS: Final = 3

SMALLEST: Final = 4
"""Entries of the smallest block. A short list is a single leaf, in a block of 4, 8, 16, ... entries."""


class ChangingTrees(NamedTuple):
    """An IR-tree per group. G groups, C codes in total, E rows of blocks, N places, H slots, a power of two."""

    starts: NDArray[np.int64]  # (G + 1,) group g's codes 1, 2, ... are numbers starts[g], starts[g] + 1, ...
    roots: NDArray[np.int32]  # (C,) the root block of each code's list, -1 if the list is empty
    entries: NDArray[np.int32]  # (4 E,)
    keys: NDArray[np.int64]  # (E,) `key_of` the score of each row; see OWNER
    items: NDArray[np.int32]  # (4 N,)
    scores: NDArray[np.float64]  # (N,)
    slots: NDArray[np.int32]  # (H,) places by a hash of group and owner, or -1
    state: NDArray[np.int64]  # (STATE,)


CHANGING: Final = kind_of(ChangingTrees)


@inlined
def key_of(score: float) -> int:
    """An integer that is lower for a higher score."""
    bits = bits_of_float(score + 0.0)  # turns -0.0 into the equal 0.0
    return ~bits if bits >= 0 else bits & np.int64(2**63 - 1)


@inlined
def comes_before(key: int, owner: int, other_key: int, other_owner: int) -> bool:
    """Whether the first of two ranks before the second: a higher score or, with equal scores, the lower owner."""
    return key < other_key or (key == other_key and owner < other_owner)
