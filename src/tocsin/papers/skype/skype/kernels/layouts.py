"""Layouts of Skype's index: leaves of a quadtree, an inverted file in each, groups of similar alpha in each list.

Paper: Wang et al. 2016, section 5.3. Let a = alpha / (1 - alpha) and b = threshold / (1 - alpha). A message whose place
is worth at most u reaches a subscription only if the words are worth b - a * u (Equation 2). Words are in one order,
rarest first; wt are weights, normalised to unit length.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists

NO_RANK: Final = 2**31 - 1
"""The rank of a word without a list."""

SLACK: Final = 1e-9
"""The rounding error allowed in a test, as a share of 1 + a."""

OUT: Final = -1.0
"""Marks a subscription that was found out of reach, in the array of shares; a candidate has 1."""


class Switches(NamedTuple):
    """Switches of the prunings. Each may be turned off without a change of the results."""

    prefix: int  # 2: location-aware prefixes, refined by the message's weights (Theorem 5.1); 1: unrefined; 0: none
    bounds: int  # 1: inner and outer spatial bounds (Definition 8); 0: the outer alone
    unseen: int  # 1: the bound of keywords not seen yet (Theorem 5.2)
    group: int  # 1: groups are skipped (Theorem 5.3)
    early: int  # 1: groups are left early (Theorem 5.4)
    cell: int  # 1: leaves are skipped (Lemma 6)


class Postings(NamedTuple):
    """Postings by leaf, word, group and b, which ascends in a group."""

    owners: Annotated[NDArray[np.int32], "postings"]  # slots
    shares: Annotated[NDArray[np.float64], "postings"]  # a
    needs: Annotated[NDArray[np.float64], "postings"]  # b
    sums: Annotated[NDArray[np.float64], "postings"]  # wtsum: of this word and all after it
    maxima: Annotated[NDArray[np.float64], "postings"]  # maxwt of this word and all after it
    weights: Annotated[NDArray[np.float64], "postings"]  # wt
    rest_sums: Annotated[NDArray[np.float64], "postings"]  # wtsum of the words after it
    rest_maxima: Annotated[NDArray[np.float64], "postings"]  # maxwt of the words after it
    inners: Annotated[NDArray[np.float64], "postings"]  # distance to the nearest edge of the leaf, in diagonals
    floors: Annotated[NDArray[np.float64], "postings"]  # the least b from here to the end of the group
    most_shares: Annotated[NDArray[np.float64], "postings"]  # the greatest a from here to the end of the group
    most_maxima: Annotated[NDArray[np.float64], "postings"]  # the greatest maxwt from here to the end of the group


class Leaves(NamedTuple):
    """Leaves of the quadtree, their lists, and the groups of these."""

    ranks: Annotated[NDArray[np.int32], "words", NO_RANK]  # rarest first, NO_RANK
    boxes: Annotated[NDArray[np.float64], "leaves, 4"]  # xmin, ymin, xmax, ymax
    nearness: Annotated[NDArray[np.float64], "leaves"]  # lambdaS: the least worth of a place that reaches anyone
    list_starts: Annotated[NDArray[np.int64], "leaves + 1"]
    list_ranks: Annotated[NDArray[np.int32], "lists"]  # ascending in a leaf
    group_starts: Annotated[NDArray[np.int64], "lists + 1"]
    starts: Annotated[NDArray[np.int64], "groups + 1"]
    leaf_of: Annotated[NDArray[np.int32], "slots"]
    place_starts: Annotated[NDArray[np.int64], "slots"]  # the postings of a slot are places[start : start + count]
    place_counts: Annotated[NDArray[np.int32], "slots"]
    places: Annotated[NDArray[np.int32], "postings"]
    groups: Annotated[NDArray[np.int32], "postings"]


class Scratch(NamedTuple):
    """Memory of a search for a message, by its number of words."""

    order: Annotated[NDArray[np.int32], "words"]  # the words of a message that have lists, rarest first
    weights: Annotated[NDArray[np.float64], "words + 1"]  # wt of each
    sums: Annotated[NDArray[np.float64], "words + 1"]  # wtsum from each on; 0 after the last
    maxima: Annotated[NDArray[np.float64], "words + 1"]  # maxwt from each on


class Skype(NamedTuple):
    """The index, and lists by word of subscriptions added since it was built."""

    switches: Switches
    leaves: Leaves
    postings: Postings
    late: Lists
    scratch: Scratch
