"""Packs R-trees level by level from the leaves, with neighbours on the map together (sort-tile-recursive).

Nodes are only as full as the least height of the tree requires. Full nodes would leave a root with two children, whose
lists would be as long as without a tree.

Source: Leutenegger, Lopez and Edgington 1997. Departs: children are spread evenly, so that only a root has too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tocsin.columns.arrays import frozen, frozen_table, gathered
from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.index.spatial_text.regions import Held
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees, bound_nodes


class Level(NamedTuple):
    """The nodes of a level: node n has children [starts[n], starts[n + 1]), numbered on the level below."""

    starts: NDArray[np.int64]
    children: NDArray[np.int64]  # on the lowest level, subscriptions


def build_trees(held: Held, least: int, most: int) -> Trees:
    """A tree for each place; nodes have `least` to `most` children. Cost: two sorts of the subscriptions."""
    boxes = held.regions.boxes
    return trees_of([pack_levels(held.members(place), boxes, least, most) for place in range(held.places)], boxes)


def pack_levels(members: NDArray[np.int32], boxes: NDArray[np.float64], least: int, most: int) -> list[Level]:
    """The levels of a tree over some subscriptions, from the leaves to the root; as few levels as possible."""
    levels: list[Level] = []
    numbers, own = members.astype(np.int64), boxes[members]
    size = max(_even_size(len(members), most), least)
    while not levels or len(numbers) > 1:
        count = len(numbers)
        groups = 1 if count <= most else min(-(-count // size), count // least)
        order, starts = _tiles(own, groups)
        levels.append(Level(starts, numbers[order]))
        own = bounds_of(own[order], starts)
        numbers = np.arange(groups)
    return levels


def _even_size(count: int, most: int) -> int:
    """The least number of children per node with which a tree is no higher than one of full nodes."""
    height = 1
    while most**height < count:
        height += 1
    size = max(int(count ** (1 / height)) - 1, 2)
    while size**height < count:
        size += 1
    return size


def _tiles(boxes: NDArray[np.float64], groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of boxes, and where it is divided into groups of neighbours of nearly equal size."""
    x, y = boxes[:, LEFT] / 2 + boxes[:, RIGHT] / 2, boxes[:, LOWER] / 2 + boxes[:, UPPER] / 2
    starts = np.arange(groups + 1) * len(boxes) // groups
    strips = int(np.ceil(np.sqrt(groups)))
    strip_starts = starts[np.arange(strips + 1) * groups // strips]
    across = np.argsort(x, kind="stable")
    strip = np.repeat(np.arange(strips), np.diff(strip_starts))
    return across[np.lexsort((y[across], strip))], starts


def bounds_of(boxes: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The bounding boxes of runs of boxes, none of them empty."""
    lows = np.minimum.reduceat(boxes[:, [LEFT, LOWER]], starts[:-1])
    highs = np.maximum.reduceat(boxes[:, [RIGHT, UPPER]], starts[:-1])
    return np.concatenate([lows, highs], axis=1)


def trees_of(places: Sequence[Sequence[Level]], boxes: NDArray[np.float64]) -> Trees:
    """Trees, one per place, with nodes in this order; each is given as levels from the leaves to the root."""
    roots: list[int] = []
    firsts, stops, is_leaf, depths, entries = [], [], [], [], []
    nodes = held = 0
    for levels in places:
        roots.append(nodes)
        current = np.zeros(1, np.int64)
        for height in range(len(levels) - 1, -1, -1):
            level = levels[height]
            inside = np.cumsum(np.diff(level.starts)[current])
            nodes += len(current)
            first = np.concatenate([[0], inside]) + (held if height == 0 else nodes)
            firsts.append(first[:-1])
            stops.append(first[1:])
            is_leaf.append(np.full(len(current), height == 0))
            depths.append(np.full(len(current), max(len(levels) - 1 - height, int(len(levels) == 1))))
            current = level.children[gathered(level.starts, current)[0]]
        entries.append(current)
        held += len(current)
    trees = Trees(
        roots=np.array(roots, np.int32),
        boxes=np.empty((nodes, 4)),
        firsts=_joined(firsts, np.int32),
        stops=_joined(stops, np.int32),
        is_leaf=_joined(is_leaf, np.uint8),
        levels=_joined(depths, np.int32),
        entries=_joined(entries, np.int32),
    )
    bound_nodes(trees, frozen(boxes, np.float64))
    return frozen_table(trees)


def _joined(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)
