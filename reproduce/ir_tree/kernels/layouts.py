"""What does an IR-tree hold that changes? A root for each code, below it an R-tree whose nodes have room.

The interval tree above is fixed: a balanced tree over the codes of a domain, counted from 1, whose leaves are the odd
ones. An interval lies in the list of the highest code that it contains, the one with the most trailing zeros: all
intervals of a list contain that code, so that no extent in it has holes (Lemma 3.1), whatever comes or goes.

A list is in order of (key, owner). It is an R-tree that grows as a B+-tree does, so that leaves stay in order.

Paper: Machanavajjhala, Vee, Garofalakis, Shanmugasundaram 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import bits_of_float, inlined
from tocsin.kernels.packing import kind_of

# A node is a block: a header, then its entries. A row of `entries` has four numbers.
LOW: Final = 0  # the least code of the interval or, above the leaves, of all that is below
HIGH: Final = 1  # the greatest
OWNER: Final = 2  # with the row's key a lower bound of all that is below; of an interval its own
LINK: Final = 3  # the interval's place, or the block below; a header has its count << LEVEL_BITS | its level
ROW: Final = 4
LEVEL_BITS: Final = 6
# The header of a root has the extent and the bound of all its list; in other headers only LINK counts.

# What `items` has of each place.
GROUP: Final = 0  # FREE where the place is
FIRST: Final = 1  # the interval's least code; of a free place the next free one, -1 for none
LAST: Final = 2  # its greatest
HOLDER: Final = 3  # its owner
FREE: Final = -1

# What `state` counts.
USED: Final = 0  # rows of `entries` that were ever taken
PLACES: Final = 1  # places that were ever taken
FREE_PLACE: Final = 2  # the first free one among them, -1 for none
COUNT: Final = 3  # intervals that are there
BRANCHING: Final = 4  # entries that a node has room for, but for short lists
LEAST: Final = 5  # entries that a node has at least, but for roots
LACKING: Final = 6  # what there was no room for: ENTRIES, ITEMS or SLOTS
FREE_BLOCKS: Final = 7  # + size: the first free block of a size, -1 for none; its header's LINK leads to the next
SIZES: Final = 12
STATE: Final = FREE_BLOCKS + SIZES

ENTRIES: Final = 1
ITEMS: Final = 2
SLOTS: Final = 3

SMALLEST: Final = 4
"""Entries of the smallest block: short lists have a leaf alone, in a block of 4, 8, 16, ... entries."""


class ChangingTrees(NamedTuple):
    """An IR-tree a group. G groups, C codes of all of them, E rows of blocks, N places, H slots, a power of two."""

    starts: NDArray[np.int64]  # (G + 1,) group g's codes 1, 2, ... are numbers starts[g], starts[g] + 1, ...
    roots: NDArray[np.int32]  # (C,) the root block of each code's list, -1 where nothing is in it
    entries: NDArray[np.int32]  # (4 E,)
    keys: NDArray[np.int64]  # (E,) of each row the `key_of` of its score; see OWNER
    items: NDArray[np.int32]  # (4 N,)
    scores: NDArray[np.float64]  # (N,)
    slots: NDArray[np.int32]  # (H,) places by a hash of group and owner, -1 for none
    state: NDArray[np.int64]  # (STATE,)


CHANGING: Final = kind_of(ChangingTrees)


@inlined
def key_of(score: float) -> int:
    """A number that is lower for a higher score."""
    bits = bits_of_float(score + 0.0)  # which makes -0.0 the 0.0 that it equals
    return ~bits if bits >= 0 else bits & np.int64(2**63 - 1)


@inlined
def comes_before(key: int, owner: int, other_key: int, other_owner: int) -> bool:
    """Whether the first of two is the better: a higher score or, of equal ones, the lower owner."""
    return key < other_key or (key == other_key and owner < other_owner)
