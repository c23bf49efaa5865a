"""Filters of R-tree nodes: by boxes alone, or also by a common token with the message.

Source: Yu et al. 2015, sections 3.2 and 4.1, Lemma 1.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.matching import register
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Regions, Seen
from tocsin.jit.decorators import inlined, inner
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenSets, next_common
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees, find_in_tree, register_entering


class BareTrees(NamedTuple):
    """R-trees, and the boxes of their entries. M entries."""

    trees: Trees
    boxes: Annotated[NDArray[np.float64], 2]  # (M, 4)


class TokenTrees(NamedTuple):
    """R-trees whose nodes have one or more tokens of each subscription below. M entries."""

    trees: Trees
    boxes: Annotated[NDArray[np.float64], 2]  # (M, 4) of the entries
    sets: TokenSets


@inlined
def _enter_any(
    trees: BareTrees, regions: Regions, node: int, message: Message, seen: Seen, found: int
) -> tuple[bool, int]:
    return True, found


@inlined
def _enter_where_tokens_meet(
    trees: TokenTrees, regions: Regions, node: int, message: Message, seen: Seen, found: int
) -> tuple[bool, int]:
    slot, _ = next_common(trees.sets, node, message, seen, np.int64(0))
    return slot != ABSENT, found


@inner
def find_by_boxes(trees: BareTrees, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: compares all entries of the leaves that a message meets."""
    return find_in_tree(trees, trees.boxes, regions, place, message, seen, found)


@inner
def find_by_tokens(trees: TokenTrees, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: the same, if every node on the way has a token of the message."""
    return find_in_tree(trees, trees.boxes, regions, place, message, seen, found)


register_entering(BareTrees, _enter_any)
register_entering(TokenTrees, _enter_where_tokens_meet)
register(BareTrees, find_by_boxes)
register(TokenTrees, find_by_tokens)
