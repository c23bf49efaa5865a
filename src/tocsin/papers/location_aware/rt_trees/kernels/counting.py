"""Counting on the way down an R-tree: finds subscriptions whose tokens are all in lists of the message's tokens.

The i-th token of a subscription is in a list of its ancestor at level i; surplus tokens are in its leaf. A subscription
in as many of the lists as it has tokens is an answer.

Source: Yu et al. 2015, section 5.2, Lemmas 3 to 5. Departs: a subscription's region is compared when it is first met,
at level 1; if it fails, the subscription is not counted, and no node is visited for it. If few subscriptions wait at a
node, which have been counted at each level so far, their tokens are looked up in the message, and no child is visited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.filtering.kernels.matching import register
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Regions, Seen
from tocsin.index.spatial_text.kernels.reading import has_all_tokens
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.intrinsics import prefetch
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenLists, next_common
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees, find_in_tree, register_entering

_AHEAD = 6
"""Memory is prefetched this many entries of a list ahead."""


class ListTrees(NamedTuple):
    """R-trees whose nodes have lists of subscriptions, each under its token for the node's level."""

    trees: Trees
    lists: TokenLists
    per_token: NDArray[np.int64]  # (1,) the most waiting subscriptions per token of a message that are finished at once


@inlined
def _enter_where_counts_grow(
    structure: ListTrees, regions: Regions, node: int, message: Message, seen: Seen, found: int
) -> tuple[bool, int]:
    """Whether to enter a node: some subscription waits, which has had all its tokens so far and has more."""
    lists, level = structure.lists, np.int64(structure.trees.levels[node])
    waits_at = np.int64(0) if structure.trees.is_leaf[node] else level
    at, waiting = np.int64(0), np.int64(0)
    while True:
        slot, at = next_common(lists.sets, node, message, seen, at)
        if slot == ABSENT:
            break
        number = np.int64(lists.numbers[slot])
        if level == 1:
            _count_first(lists, number, regions, message, seen)
        found, waiting = _count_on(lists, number, waits_at, regions, message, seen, found, waiting)
    if waiting <= structure.per_token[0] * message.tokens:
        return False, _finish(regions, seen, found, waiting)
    return waiting > 0, found


@inlined
def _count_first(lists: TokenLists, number: int, regions: Regions, message: Message, seen: Seen) -> None:
    """Start counting the subscriptions of a list that are met for the first time and whose regions meet the message."""
    first, stop = lists.starts[number], lists.starts[number + 1]
    seen.examined[0] += stop - first
    for i in range(first, stop):
        prefetch(regions.boxes, 4 * np.int64(lists.entries[min(i + _AHEAD, stop - 1)]))
        one = np.int64(lists.entries[i])
        if seen.stamps[one] != message.stamp and meets(regions.boxes, one, message):
            seen.stamps[one], seen.counts[one] = message.stamp, 0


@inlined
def _count_on(
    lists: TokenLists,
    number: int,
    level: int,
    regions: Regions,
    message: Message,
    seen: Seen,
    found: int,
    waiting: int,
) -> tuple[int, int]:
    """Count a list. Those that have been in one list per level and have more tokens wait (Lemma 5).

    Answers are `seen.hits[:found]`. The `waiting` subscriptions of the node follow them. At level 0 none wait.
    """
    hits, first, stop = seen.hits, lists.starts[number], lists.starts[number + 1]
    for i in range(first, stop):
        prefetch(seen.stamps, np.int64(lists.entries[min(i + _AHEAD, stop - 1)]))
        one = np.int64(lists.entries[i])
        if seen.stamps[one] != message.stamp:
            continue
        count = np.int64(seen.counts[one]) + 1
        seen.counts[one] = count
        if count == regions.token_starts[one + 1] - regions.token_starts[one]:
            hits[found + waiting] = hits[found]
            hits[found] = one
            found += 1
        elif count == level:
            hits[found + waiting] = one
            waiting += 1
    return np.int64(found), np.int64(waiting)


@inlined
def _finish(regions: Regions, seen: Seen, found: int, waiting: int) -> int:
    """Keep the waiting subscriptions whose tokens are all in the message; returns where the answers end."""
    hits = seen.hits
    for i in range(found, found + waiting):
        one = np.int64(hits[i])
        if has_all_tokens(regions, one, seen):
            hits[found] = one
            found += 1
    return np.int64(found)


@inner
def find_by_counts(structure: ListTrees, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: a leaf is treated like other nodes, and its entries are not verified."""
    return find_in_tree(structure, structure.trees.boxes, regions, place, message, seen, found)


register_entering(ListTrees, _enter_where_counts_grow)
register(ListTrees, find_by_counts)
