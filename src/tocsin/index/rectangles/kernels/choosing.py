"""Choice of the two axes of a subscription's rectangle: those on which it is the smallest part of the map.

Only the terms of its outermost AND count: ranges of attributes, and boxes on a map.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions, next_place

NO_RECTANGLE: Final = -1
NEVER: Final = -2


class Sides(NamedTuple):
    """The axes and boxes of expressions. F leaves, X axes."""

    sizes: NDArray[np.int64]  # (X,) number of codes of an axis
    boxes: Annotated[NDArray[np.int32], 2]  # (F, 4) for a leaf that is a box, on its place's axes
    axes: NDArray[np.int32]  # (F,) the first of these axes


class Rectangles(NamedTuple):
    """The rectangle of each subscription. S subscriptions."""

    axes: Annotated[NDArray[np.int32], 2]  # (S, 2) the first may be NO_RECTANGLE or NEVER
    rectangles: Annotated[NDArray[np.int32], 2]  # (S, 4)
    asks_more: NDArray[np.bool_]  # (S,)


@kernel
def choose_rectangles(leaves: Expressions, keys: Keys, sides: Sides) -> Rectangles:
    """The rectangle of each expression. Cost: linear in the programs."""
    leaves, keys, sides = viewed(leaves), viewed(keys), viewed(sides)
    count = len(leaves.program_starts) - 1
    out = Rectangles(np.empty((count, 2), np.int32), np.zeros((count, 4), np.int32), np.zeros(count, np.bool_))
    for number in range(count):
        _choose(leaves, keys, sides, number, out)
    return out


@inlined
def _choose(leaves: Expressions, keys: Keys, sides: Sides, number: int, out: Rectangles) -> None:
    """Choose the two smallest ranges on different axes, or the smallest box if it is a smaller part of the map."""
    program, last = leaves.program, len(sides.sizes) - 1
    asked, one, other, box = 0, -1, -1, -1  # leaves
    share_one, share_other, share_box = 1.0, 1.0, 2.0
    place = leaves.program_starts[number]
    while place < leaves.program_starts[number + 1]:
        asked += 1
        if program[place] < 0:
            place = next_place(program, place)
            continue
        leaf = program[place] >> 1
        positive = program[place] & 1 == 0
        place += 1
        if positive and leaves.leaf_kinds[leaf] == codes.FALSE_LEAF:
            out.axes[number, 0] = NEVER
            return
        if positive and leaves.leaf_kinds[leaf] == codes.RANGE:
            share = _share_of_range(keys, sides, leaf)
            if share <= 0.0:
                out.axes[number, 0] = NEVER
                return
            if one < 0 or share < share_one:
                if one >= 0 and _axis(keys, one) != _axis(keys, leaf):
                    other, share_other = one, share_one
                one, share_one = leaf, share
            elif _axis(keys, one) != _axis(keys, leaf) and (other < 0 or share < share_other):
                other, share_other = leaf, share
        elif positive and leaves.leaf_kinds[leaf] == codes.INTERSECTS:
            share = _share_of_box(sides, leaf)
            if share < share_box:
                box, share_box = leaf, share
    if box >= 0 and share_box <= share_one * share_other:
        out.axes[number, 0], out.axes[number, 1] = sides.axes[box], sides.axes[box] + 1
        for edge in range(4):
            out.rectangles[number, edge] = sides.boxes[box, edge]
        out.asks_more[number] = asked > 1
        return
    if one < 0:
        out.axes[number, 0] = NO_RECTANGLE
        return
    _write_ranges(keys, sides, number, one, other, last, out)
    out.asks_more[number] = asked > 1 + (other >= 0)


@inlined
def _write_ranges(keys: Keys, sides: Sides, number: int, one: int, other: int, last: int, out: Rectangles) -> None:
    """Write the rectangle of two ranges, the lower axis first, or of one range and the axis that every event has."""
    out.axes[number, 0], out.axes[number, 1] = _axis(keys, one), last
    if other >= 0:
        if _axis(keys, one) > _axis(keys, other):
            one, other = other, one
        out.axes[number, 0], out.axes[number, 1] = _axis(keys, one), _axis(keys, other)
        out.rectangles[number, LOWER] = keys.lows[keys.starts[other]]
        out.rectangles[number, UPPER] = _last(keys, sides, other)
    out.rectangles[number, LEFT] = keys.lows[keys.starts[one]]
    out.rectangles[number, RIGHT] = _last(keys, sides, one)


@inlined
def _axis(keys: Keys, leaf: int) -> int:
    return keys.fields[keys.starts[leaf]]


@inlined
def _last(keys: Keys, sides: Sides, leaf: int) -> int:
    """The last existing code of a range."""
    return min(np.int64(keys.highs[keys.starts[leaf]]), sides.sizes[_axis(keys, leaf)] - 1)


@inlined
def _share_of_range(keys: Keys, sides: Sides, leaf: int) -> float:
    width = _last(keys, sides, leaf) - keys.lows[keys.starts[leaf]] + 1
    return width / sides.sizes[_axis(keys, leaf)]


@inlined
def _share_of_box(sides: Sides, leaf: int) -> float:
    axis = sides.axes[leaf]
    width = sides.boxes[leaf, RIGHT] - sides.boxes[leaf, LEFT] + 1
    height = sides.boxes[leaf, UPPER] - sides.boxes[leaf, LOWER] + 1
    return (width / sides.sizes[axis]) * (height / sides.sizes[axis + 1])
