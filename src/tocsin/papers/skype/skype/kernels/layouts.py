"""What does Skype's index hold? A quadtree's leaves, an inverted file in each, groups of like alpha in each list.

Paper: Wang et al. 2016, section 5.3. With a = alpha / (1 - alpha) and b = threshold / (1 - alpha) a message whose place
is worth u at most reaches a subscription only where the words are worth b - a * u (Equation 2). Words are in one
order, rarest first; wt are weights, normalised to unit length.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists

NO_RANK: Final = 2**31 - 1
"""The rank of a word that no list is of."""

SLACK: Final = 1e-9
"""What rounding may take from a test, as a share of 1 + a."""

OUT: Final = -1.0
"""Stands among what was shared for a subscription that was seen to be out of reach; a candidate has 1."""


class Switches(NamedTuple):
    """Which prunings are on: each may be left out, and what is reached is the same."""

    prefix: int  # 2: location-aware prefixes, refined by the message's weights (Theorem 5.1); 1: unrefined; 0: none
    bounds: int  # 1: inner and outer spatial bounds (Definition 8); 0: the outer alone
    unseen: int  # 1: the bound of keywords not seen yet (Theorem 5.2)
    group: int  # 1: groups are skipped (Theorem 5.3)
    early: int  # 1: groups are left early (Theorem 5.4)
    cell: int  # 1: leaves are skipped (Lemma 6)


class Postings(NamedTuple):
    """Postings by leaf, word, group and b, which ascends in a group. P postings."""

    owners: NDArray[np.int32]  # (P,) slots
    shares: NDArray[np.float64]  # (P,) a
    needs: NDArray[np.float64]  # (P,) b
    sums: NDArray[np.float64]  # (P,) wtsum: of this word and all after it
    maxima: NDArray[np.float64]  # (P,) maxwt of the same
    weights: NDArray[np.float64]  # (P,) wt
    rest_sums: NDArray[np.float64]  # (P,) wtsum of the words after it
    rest_maxima: NDArray[np.float64]  # (P,) maxwt of the same
    inners: NDArray[np.float64]  # (P,) distance to the nearest edge of the leaf, in diagonals
    floors: NDArray[np.float64]  # (P,) the least b from here to the end of the group
    most_shares: NDArray[np.float64]  # (P,) the most a
    most_maxima: NDArray[np.float64]  # (P,) the most maxwt


class Leaves(NamedTuple):
    """C leaves, L lists, G groups, S slots, V words, P postings."""

    ranks: NDArray[np.int32]  # (V,) rarest first, NO_RANK
    boxes: Annotated[NDArray[np.float64], 2]  # (C, 4) xmin, ymin, xmax, ymax
    nearness: NDArray[np.float64]  # (C,) lambdaS: no message whose place is worth less reaches anybody
    list_starts: NDArray[np.int64]  # (C + 1,)
    list_ranks: NDArray[np.int32]  # (L,) ascending in a leaf
    group_starts: NDArray[np.int64]  # (L + 1,)
    starts: NDArray[np.int64]  # (G + 1,)
    leaf_of: NDArray[np.int32]  # (S,)
    place_starts: NDArray[np.int64]  # (S,) where the postings of a slot are: places[start : start + count]
    place_counts: NDArray[np.int32]  # (S,)
    places: NDArray[np.int32]  # (P,)
    groups: NDArray[np.int32]  # (P,)


class Scratch(NamedTuple):
    """Memory of a search. N words of a message, S slots."""

    order: NDArray[np.int32]  # (N,) the words of a message that have lists, rarest first
    weights: NDArray[np.float64]  # (N + 1,) wt of each
    sums: NDArray[np.float64]  # (N + 1,) wtsum from each on; 0 behind the last
    maxima: NDArray[np.float64]  # (N + 1,) maxwt from each on


class Skype(NamedTuple):
    """The index, and those who came since it was built, under each of their words."""

    switches: Switches
    leaves: Leaves
    postings: Postings
    late: Lists
    scratch: Scratch
