"""The search of a changing tree for the subscriptions that a message satisfies, from the root as in packed trees.

Source: Yu et al. 2015, section 3.2, Algorithm 1, and section 5.2. Departs: boxes are compared by their sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.filtering.kernels.matching import register
from tocsin.index.spatial_text.kernels.layouts import Message, Regions, Seen
from tocsin.index.spatial_text.kernels.reading import has_all_tokens
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.views import choose
from tocsin.papers.location_aware.growing_trees.kernels.layouts import HIGHEST, CountedTree, ListedTree
from tocsin.papers.location_aware.growing_trees.kernels.tables import value_of


def enter(
    structure: Any, regions: Regions, place: int, node: int, message: Message, seen: Seen, found: int
) -> tuple[bool, int]:
    """Whether any subscription below a node of a place's tree may match; writes those that do to `seen.hits`."""
    raise NotImplementedError("for kernels")


@inlined
def _enter_where_counted(
    structure: CountedTree, regions: Regions, place: int, node: int, message: Message, seen: Seen, found: int
) -> tuple[bool, int]:
    """Whether any subscription below a node has a token of the message."""
    for i in range(message.tokens):
        if value_of(structure.table, node, np.int64(seen.tokens[i])) > 0:
            return True, found
    return False, found


@inlined
def _enter_where_listed(
    structure: ListedTree, regions: Regions, place: int, node: int, message: Message, seen: Seen, found: int
) -> tuple[bool, int]:
    """Whether a subscription was in one list per level so far, and has more tokens (Lemma 5)."""
    tree, chains, waits = structure.tree, structure.chains, False
    level = max(np.int64(tree.heights[tree.roots[place]]) - np.int64(tree.heights[node]), np.int64(1))
    for i in range(message.tokens):
        turn = value_of(structure.table, node, np.int64(seen.tokens[i]))
        while turn > 0:
            one = np.int64(chains.owners[turn - 1])
            count = np.int64(seen.counts[one]) + 1 if seen.stamps[one] == message.stamp else np.int64(1)
            seen.stamps[one], seen.counts[one] = message.stamp, count
            if count == regions.token_starts[one + 1] - regions.token_starts[one]:
                seen.examined[0] += 1
                seen.hits[found] = one
                found = np.int64(found + meets(regions.boxes, one, message))
            elif count == level:
                waits = True
            turn = np.int64(chains.nexts[turn - 1])
    return waits & (tree.heights[node] > 0), np.int64(found)


@inlined
def _walk(structure: Any, regions: Regions, at_place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`, depth first. A root that is a leaf is entered like other nodes."""
    tree = structure.tree
    places = len(tree.children) // len(tree.counts)
    at, end = np.empty(HIGHEST, np.int64), np.empty(HIGHEST, np.int64)
    root, found, depth = np.int64(tree.roots[at_place]), np.int64(found), np.int64(0)
    at[0], end[0] = root * places, root * places + tree.counts[root]
    if tree.heights[root] == 0:
        goes_on, found = enter(structure, regions, at_place, root, message, seen, found)
        end[0] = end[0] if goes_on else at[0]
    while depth >= 0:
        place = at[depth]
        if place == end[depth]:
            depth -= 1
            continue
        at[depth] = place + 1
        if not meets(tree.boxes, place, message):
            continue
        child = np.int64(tree.children[place])
        if depth == tree.heights[root]:
            seen.examined[0] += 1
            if has_all_tokens(regions, child, seen):
                seen.hits[found] = child
                found += 1
            continue
        goes_on, found = enter(structure, regions, at_place, child, message, seen, found)
        if goes_on:
            depth += 1
            at[depth], end[depth] = child * places, child * places + tree.counts[child]
    return np.int64(found)


@inner
def find_counted(structure: CountedTree, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: verifies the entries of leaves."""
    return _walk(structure, regions, place, message, seen, found)


@inner
def find_listed(structure: ListedTree, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: verifies only the regions of subscriptions with all of their tokens."""
    return _walk(structure, regions, place, message, seen, found)


choose(enter, CountedTree, _enter_where_counted)
choose(enter, ListedTree, _enter_where_listed)
register(CountedTree, find_counted)
register(ListedTree, find_listed)
