"""Insertion into and deletion from an R-tree: Guttman 1984, with quadratic splits and reinsertion after underflow.

A node has up to M children, and one more place for the child that causes a split. A place's box bounds everything
below.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed

USED: Final = 0
FREE: Final = 1
NONE: Final = -1


class Nodes(NamedTuple):
    """Some trees. N room for nodes, each with W = M + 1 places; place p of node n has number n W + p. T trees."""

    state: NDArray[np.int64]  # (2,) the number of nodes ever USED, the first FREE one
    roots: NDArray[np.int64]  # (T,)
    children: NDArray[np.int32]  # (N W,) rectangles in leaves, nodes above
    boxes: Annotated[NDArray[np.float64], 2]  # (N W, 4) left, lower, right, upper
    counts: NDArray[np.int32]  # (N,)
    parents: NDArray[np.int32]  # (N,) for a free node, the next free one
    heights: NDArray[np.int32]  # (N,) 0 for leaves


@kernel
def insert(
    growing: Nodes, of: int, box: NDArray[np.float64], child: int, height: int, fewest: int, path: NDArray[np.int32]
) -> int:
    """Insert into a tree a rectangle (height 0) or a node below a node of some height. There must be room for nodes.

    Writes the nodes from there up to the old root, each with its split-off node, or NONE; returns how many.
    """
    tree = viewed(growing)
    children, boxes, counts, heights = tree.children, tree.boxes, tree.counts, tree.heights
    places = len(children) // len(counts)
    node = tree.roots[of]
    while heights[node] > height:
        node = np.int64(children[_least_enlarged(tree, node, places, box)])
    _put(tree, node, places, box, child)
    length = 0
    while True:
        other = np.int64(NONE)
        if counts[node] == places:
            other = _split(tree, node, places, fewest)
        path[length, 0], path[length, 1] = node, other
        length += 1
        parent = np.int64(tree.parents[node])
        if parent < 0:
            if other >= 0:
                _new_root(tree, of, node, other, places)
            return np.int64(length)
        _bound(tree, node, places, boxes[_place_in(tree, parent, places, node)])
        if other >= 0:
            around = np.empty(4)
            _bound(tree, other, places, around)
            _put(tree, parent, places, around, other)
        node = parent


@kernel
def remove(growing: Nodes, of: int, box: NDArray[np.float64], child: int, fewest: int, path: NDArray[np.int32]) -> int:
    """Remove a rectangle from a tree. Writes the nodes from its leaf up to the root, and whether each was removed.

    Returns how many, or NONE if the rectangle is not there. The caller must reinsert the children of removed nodes.
    """
    tree = viewed(growing)
    boxes, counts, parents = tree.boxes, tree.counts, tree.parents
    places = len(tree.children) // len(counts)
    place = find_leaf(tree, of, places, box, child)
    if place < 0:
        return np.int64(NONE)
    node = place // places
    _drop(tree, node, places, place)
    length = 0
    while parents[node] >= 0:
        parent = np.int64(parents[node])
        place = _place_in(tree, parent, places, node)
        is_cut = counts[node] < fewest
        path[length, 0], path[length, 1] = node, is_cut
        length += 1
        if is_cut:
            _drop(tree, parent, places, place)
        else:
            _bound(tree, node, places, boxes[place])
        node = parent
    path[length, 0], path[length, 1] = node, 0
    return np.int64(length + 1)


@inner
def put_in_leaf(tree: Nodes, of: int, box: NDArray[np.float64], child: int, path: NDArray[np.int32]) -> int:
    """Insert a rectangle into tree `of`, unless that splits its leaf.

    Writes the nodes from the leaf up to the root; returns how many, or NONE if the leaf is full and nothing changed.
    """
    places = len(tree.children) // len(tree.counts)
    node = tree.roots[of]
    while tree.heights[node] > 0:
        node = np.int64(tree.children[_least_enlarged(tree, node, places, box)])
    if tree.counts[node] == places - 1:
        return np.int64(NONE)
    _put(tree, node, places, box, child)
    return _bound_path(tree, node, places, path)


@inner
def take_from_leaf(
    tree: Nodes, of: int, box: NDArray[np.float64], child: int, fewest: int, path: NDArray[np.int32]
) -> int:
    """Remove a rectangle from tree `of`, unless too few are left in its leaf. Writes and returns like `put_in_leaf`."""
    places = len(tree.children) // len(tree.counts)
    place = find_leaf(tree, of, places, box, child)
    node = place // places
    if tree.parents[node] >= 0 and tree.counts[node] <= fewest:
        return np.int64(NONE)
    _drop(tree, node, places, place)
    return _bound_path(tree, node, places, path)


@inner
def _bound_path(tree: Nodes, node: int, places: int, path: NDArray[np.int32]) -> int:
    """Bound a leaf and all nodes above it, and write them to a path; returns how many."""
    length = np.int64(0)
    while True:
        path[length] = node
        length += 1
        parent = np.int64(tree.parents[node])
        if parent < 0:
            return np.int64(length)
        _bound(tree, node, places, tree.boxes[_place_in(tree, parent, places, node)])
        node = parent


@kernel
def free(growing: Nodes, node: int) -> None:
    """Make a node available for reuse."""
    tree = viewed(growing)
    tree.parents[node] = tree.state[FREE]
    tree.state[FREE] = node


@kernel
def shorten(growing: Nodes, of: int) -> None:
    """If the root of tree `of` has a single child that is a node, make that child the root."""
    tree = viewed(growing)
    places = len(tree.children) // len(tree.counts)
    root = tree.roots[of]
    while tree.heights[root] > 0 and tree.counts[root] == 1:
        tree.roots[of] = tree.children[root * places]
        tree.parents[root] = tree.state[FREE]
        tree.state[FREE] = root
        root = tree.roots[of]
        tree.parents[root] = NONE


@kernel
def find(growing: Nodes, x: float, y: float, stack: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Write the rectangles of the first tree that cover a point, as far as there is room; returns how many."""
    return _find(viewed(growing), x, y, stack, out)


@kernel
def find_each(
    growing: Nodes, points: Annotated[NDArray[np.float64], 2], stack: NDArray[np.int32], out: NDArray[np.int32]
) -> int:
    """The same for many points, one after the other into the same room; returns how many in all."""
    tree, found = viewed(growing), 0
    for row in range(len(points)):
        found += _find(tree, points[row, 0], points[row, 1], stack, out)
    return found


@inner
def _find(tree: Nodes, x: float, y: float, stack: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    children, boxes, counts, heights = tree.children, tree.boxes, tree.counts, tree.heights
    places = len(children) // len(counts)
    stack[0] = tree.roots[0]
    depth, found = 1, 0
    while depth > 0:
        depth -= 1
        node = np.int64(stack[depth])
        for place in range(node * places, node * places + counts[node]):
            if boxes[place, 0] <= x and x <= boxes[place, 2] and boxes[place, 1] <= y and y <= boxes[place, 3]:
                if heights[node] > 0:
                    stack[depth] = children[place]
                    depth += 1
                else:
                    if found < len(out):
                        out[found] = children[place]
                    found += 1
    return found


@inner
def _least_enlarged(tree: Nodes, node: int, places: int, box: NDArray[np.float64]) -> int:
    """The place whose box is enlarged least by another box; ties go to the smallest."""
    best, least, smallest = node * places, np.inf, np.inf
    for place in range(node * places, node * places + tree.counts[node]):
        area = _area(tree.boxes[place])
        more = _area_of_both(tree.boxes[place], box) - area
        if more < least or (more == least and area < smallest):
            best, least, smallest = place, more, area
    return best


@inlined
def _area(box: NDArray[np.float64]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


@inlined
def _area_of_both(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    width = max(one[2], other[2]) - min(one[0], other[0])
    return width * (max(one[3], other[3]) - min(one[1], other[1]))


@inner
def _put(tree: Nodes, node: int, places: int, box: NDArray[np.float64], child: int) -> None:
    """Add a child to a node; the caller updates the boxes above."""
    place = node * places + tree.counts[node]
    tree.counts[node] += 1
    tree.children[place] = child
    for edge in range(4):
        tree.boxes[place, edge] = box[edge]
    if tree.heights[node] > 0:
        tree.parents[child] = node


@inner
def _drop(tree: Nodes, node: int, places: int, place: int) -> None:
    """Remove a child from a node; the last child takes its place."""
    tree.counts[node] -= 1
    last = node * places + tree.counts[node]
    tree.children[place] = tree.children[last]
    for edge in range(4):
        tree.boxes[place, edge] = tree.boxes[last, edge]


@inner
def _place_in(tree: Nodes, parent: int, places: int, node: int) -> int:
    place = parent * places
    while tree.children[place] != node:
        place += 1
    return place


@inner
def _bound(tree: Nodes, node: int, places: int, out: NDArray[np.float64]) -> None:
    """Write the bounding box of a node's children."""
    first = node * places
    for edge in range(4):
        out[edge] = tree.boxes[first, edge]
    for place in range(first + 1, first + tree.counts[node]):
        for edge in range(2):
            out[edge] = min(out[edge], tree.boxes[place, edge])
            out[edge + 2] = max(out[edge + 2], tree.boxes[place, edge + 2])


@inner
def _new_node(tree: Nodes, height: int) -> int:
    node = tree.state[FREE]
    if node >= 0:
        tree.state[FREE] = tree.parents[node]
    else:
        node = tree.state[USED]
        tree.state[USED] += 1
    tree.counts[node], tree.heights[node], tree.parents[node] = 0, height, NONE
    return np.int64(node)


@inner
def _new_root(tree: Nodes, of: int, node: int, other: int, places: int) -> None:
    root = _new_node(tree, np.int64(tree.heights[node]) + 1)
    around = np.empty(4)
    for child in (node, other):
        _bound(tree, child, places, around)
        _put(tree, root, places, around, child)
    tree.roots[of] = root


@inner
def _split(tree: Nodes, node: int, places: int, fewest: int) -> int:
    """Distribute the children of an overfull node to it and a new node; returns that (section 3.5.2, quadratic)."""
    first = node * places
    boxes, children = tree.boxes[first : first + places].copy(), tree.children[first : first + places].copy()
    seeds = _seeds(boxes)
    other = _new_node(tree, np.int64(tree.heights[node]))
    tree.counts[node] = 0
    groups = np.array([node, other])
    around = np.empty((2, 4))
    left = np.ones(places, np.bool_)
    for side in range(2):
        left[seeds[side]] = False
        around[side] = boxes[seeds[side]]
        _put(tree, groups[side], places, boxes[seeds[side]], children[seeds[side]])
    for rest in range(places - 2, 0, -1):
        side, chosen = _next(tree, groups, around, boxes, left, rest, fewest)
        left[chosen] = False
        _put(tree, groups[side], places, boxes[chosen], children[chosen])
        for edge in range(2):
            around[side, edge] = min(around[side, edge], boxes[chosen, edge])
            around[side, edge + 2] = max(around[side, edge + 2], boxes[chosen, edge + 2])
    return other


@inner
def _seeds(boxes: NDArray[np.float64]) -> NDArray[np.int64]:
    """The two boxes that together would waste the most area (PS1)."""
    worst, seeds = -np.inf, np.array([0, 1])
    for i in range(len(boxes)):
        for j in range(i + 1, len(boxes)):
            waste = _area_of_both(boxes[i], boxes[j]) - _area(boxes[i]) - _area(boxes[j])
            if waste > worst:
                worst = waste
                seeds[0], seeds[1] = i, j
    return seeds


@inner
def _next(
    tree: Nodes,
    groups: NDArray[np.int64],
    around: NDArray[np.float64],
    boxes: NDArray[np.float64],
    left: NDArray[np.bool_],
    rest: int,
    fewest: int,
) -> tuple[int, int]:
    """The next child, and its group: a group that needs all remaining ones, else the strongest preference (PN1)."""
    short = NONE
    for side in range(2):
        if tree.counts[groups[side]] + rest <= fewest:
            short = side
    best, chosen, side = -1.0, np.int64(NONE), 0
    for i in range(len(left)):
        if not left[i]:
            continue
        more = _area_of_both(around[0], boxes[i]) - _area(around[0])
        others = _area_of_both(around[1], boxes[i]) - _area(around[1])
        if chosen == NONE or abs(more - others) > best:  # areas beyond float64 have no difference
            best, chosen = abs(more - others), i
            side = 0 if more < others else 1
            if more == others:
                side = 0 if tree.counts[groups[0]] <= tree.counts[groups[1]] else 1
    return (side if short == NONE else short), chosen


@inner
def find_leaf(tree: Nodes, of: int, places: int, box: NDArray[np.float64], child: int) -> int:
    """The place of a rectangle in a leaf, NONE if it is not there."""
    stack = np.empty(len(tree.counts), np.int64)
    stack[0] = tree.roots[of]
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        for place in range(node * places, node * places + tree.counts[node]):
            if tree.heights[node] == 0:
                if tree.children[place] == child:
                    return np.int64(place)
            elif (
                tree.boxes[place, 0] <= box[0]
                and tree.boxes[place, 1] <= box[1]
                and tree.boxes[place, 2] >= box[2]
                and tree.boxes[place, 3] >= box[3]
            ):
                stack[depth] = tree.children[place]
                depth += 1
    return np.int64(NONE)
