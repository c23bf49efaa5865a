"""Bounding boxes for expressions whose outermost AND asks for no box: every place that fulfils one still meets a box.

- A place that touches, meets or lies in a shape meets the box around the shape. A place near a point meets the box of
  the circle.
- A place that fulfils an OR of boxes or shapes of one attribute meets the box around all of them. A box across the
  antimeridian is such an OR, of its two sides.

Such an expression is treated as if it asked for that box, too, and is found by it. The rest is verified.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.leaf_kinds import ATTRIBUTES, refers
from tocsin.columns.expressions.programs import depths, leaf_places
from tocsin.errors import ExpressionError, SegmentError
from tocsin.index.filtering.kernels.verifying import with_boxes
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.language import parse
from tocsin.language.distances import Circle, boxes_around
from tocsin.language.operators.distance import DISTANCE
from tocsin.model.expression import Call, Constant
from tocsin.model.readings import reading_of
from tocsin.model.shapes import geometry_of
from tocsin.model.values import Bounds, Box, Point, Shape


def with_boxes_around(compiled: CompiledExpressions, *, goes_on: bool = False) -> CompiledExpressions:
    """The expressions with the added bounding boxes; the same object if there are none.

    With `goes_on`, circles get boxes, too, and a box across the antimeridian continues beyond 180 degrees instead of
    spanning the globe. New attributes are put behind the others. Cost: linear, and each predicate on a shape is parsed
    once.
    """
    shapes = _Shapes.of(compiled, goes_on)
    if not shapes.names and not _has_or(compiled.arrays):
        return compiled
    attributes = list(dict.fromkeys([*compiled.attributes, *shapes.names]))
    numbers = {name: number for number, name in enumerate(attributes)}
    arrays, names = compiled.arrays, np.array([numbers[name] for name in shapes.names], np.int64)
    by_attribute = np.full(len(compiled.attributes), -1, np.int64)
    by_attribute[shapes.attributes] = np.arange(len(names))
    has_attribute = refers(arrays.leaf_kinds, "leaf_attributes", ATTRIBUTES)  # others may refer to a term
    of_shapes = np.full(len(arrays.leaf_kinds), -1, np.int64)
    of_shapes[has_attribute] = by_attribute[arrays.leaf_attributes[has_attribute]]
    places, boxes = boxes_met(arrays)
    own = of_shapes >= 0
    places[own], boxes[own] = names[of_shapes[own]], shapes.boxes[of_shapes[own]]
    ors = Ors.of(arrays, places)
    if not len(names) and not len(ors.marks):
        return compiled
    first = len(arrays.leaf_kinds)
    of_leaves, of_expressions = np.where(own, first + of_shapes, -1), np.full(len(compiled), -1, np.int32)
    of_expressions[ors.owners] = first + len(names) + np.arange(len(ors.marks))
    starts, program = with_boxes(arrays, frozen(of_leaves, np.int32), frozen(of_expressions, np.int32))
    around = np.concatenate([shapes.boxes, _around_ors(ors, boxes, goes_on)])
    whole = _with_leaves(arrays, np.concatenate([names, ors.places(places)]), around)
    changed = whole._replace(program_starts=frozen(starts, np.int64), program=frozen(program, np.int32))
    return replace(compiled, arrays=changed, attributes=attributes).with_attributes(len(attributes))


def _with_leaves(arrays: Expressions, places: NDArray[np.int64], boxes: NDArray[np.float64]) -> Expressions:
    """The expressions with more leaves at the end, which ask for boxes of attributes."""
    added = leaf_arrays(
        len(places),
        kinds=codes.INTERSECTS,
        types=codes.GEOMETRY,
        attributes=places,
        others=len(arrays.boxes) + np.arange(len(places)),
    )
    leaves = {name: np.concatenate([getattr(arrays, name), new]) for name, new in added.items()}
    frozen_leaves = {name: frozen(array, getattr(arrays, name).dtype) for name, array in leaves.items()}
    return arrays._replace(boxes=frozen(np.concatenate([arrays.boxes, boxes]), np.float64), **frozen_leaves)


def without_attributes_of_boxes(compiled: CompiledExpressions, boxed: CompiledExpressions) -> CompiledExpressions:
    """The expressions before boxes were added, but with the added attributes: for verification."""
    if boxed is compiled:
        return compiled
    return replace(compiled, attributes=boxed.attributes).with_attributes(len(boxed.attributes))


def with_crossing_boxes(compiled: CompiledExpressions) -> CompiledExpressions:
    """The expressions with one box across the antimeridian in place of an OR of its two sides.

    Its left edge is greater than its right one. Kernels that verify expressions do not support such a box. Cost:
    linear.
    """
    arrays = compiled.arrays
    if not _has_or(arrays):
        return compiled
    places, boxes = boxes_met(arrays)
    ors = Ors.of(arrays, places)
    crossing = ors.crossing(boxes)
    own = np.flatnonzero(~np.isnan(crossing[:, 0]))
    if not len(own):
        return compiled
    program, kept = arrays.program.copy(), np.ones(len(arrays.program), bool)
    program[ors.marks[own]] = 2 * (len(arrays.leaf_kinds) + np.arange(len(own)))
    kept[(ors.marks[own][:, None] + [1, 2, 3]).reshape(-1)] = False  # its length, and both sides
    before = np.concatenate([[0], np.cumsum(kept)])
    whole = _with_leaves(arrays, ors.places(places)[own], crossing[own])
    starts = frozen(before[arrays.program_starts], np.int64)
    return replace(compiled, arrays=whole._replace(program_starts=starts, program=frozen(program[kept], np.int32)))


def _has_or(arrays: Expressions) -> bool:
    return bool((arrays.program == codes.OPEN_OR).any())


class _Shapes(NamedTuple):
    """The predicates on shapes among some attributes, by name. N predicates."""

    attributes: list[int]  # (N,) the predicate's attribute
    names: list[str]  # (N,) the attribute of the place
    boxes: NDArray[np.float64]  # (N, 4) around the shape

    @classmethod
    def of(cls, compiled: CompiledExpressions, circles: bool) -> _Shapes:
        used = set(np.unique(compiled.arrays.leaf_attributes).tolist())
        asked = ((number, name) for number, name in enumerate(compiled.attributes) if number in used)
        found = [(number, *box) for number, name in asked if (box := _box_of(name, circles)) is not None]
        numbers, names, boxes = [list(column) for column in zip(*found, strict=True)] or ([], [], [])
        return cls(numbers, names, np.array(boxes, np.float64).reshape(-1, 4))


def boxes_met(arrays: Expressions) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(F,) the attribute for which each leaf asks for a box, -1 for none, and (F, 4) that box."""
    places, boxes = np.full(len(arrays.leaf_kinds), -1, np.int64), np.zeros((len(arrays.leaf_kinds), 4))
    meets = np.flatnonzero(arrays.leaf_kinds == codes.INTERSECTS)
    places[meets], boxes[meets] = arrays.leaf_attributes[meets], arrays.boxes[arrays.leaf_others[meets]]
    return places, boxes


# ---- OR


class Ors(NamedTuple):
    """ORs in the outermost AND of some expressions that ask only for boxes of one attribute. N ORs."""

    marks: NDArray[np.int64]  # (N,) position of each in the program
    owners: NDArray[np.int64]  # (N,) the expression
    starts: NDArray[np.int64]  # (N + 1,) leaves [starts[n], starts[n + 1]) are those of OR n
    leaves: NDArray[np.int32]

    @classmethod
    def of(cls, arrays: Expressions, places: NDArray[np.int64]) -> Ors:
        """`places`: (F,) the attribute for which a leaf asks for a box, -1 for none. Cost: linear in the programs."""
        program = arrays.program
        marks = np.flatnonzero(program == codes.OPEN_OR)
        marks = marks[depths(program)[marks] == 1] if len(marks) else marks
        if not len(marks):
            nothing = np.empty(0, np.int64)
            return cls(nothing, nothing, np.zeros(1, np.int64), nothing.astype(np.int32))
        lengths = program[marks + 1].astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        inside = np.repeat(marks + 2 - starts, lengths) + np.arange(lengths.sum())
        literals = np.where(leaf_places(program), program, 1)[inside]
        asked = np.where(literals & 1 == 0, places[literals >> 1], -1)
        least, most = np.minimum.reduceat(asked, starts), np.maximum.reduceat(asked, starts)
        suits = (least == most) & (least >= 0)
        owners = np.searchsorted(arrays.program_starts, marks[suits], side="right") - 1
        kept = np.repeat(suits, lengths)
        return cls(marks[suits], owners, starts_of(lengths[suits], int(suits.sum())), (literals >> 1)[kept])

    def places(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """(N,) the attribute of each OR; `places` has it by leaf."""
        return places[self.leaves[self.starts[:-1]]]

    def around(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, 4) the box around all boxes of each OR; `boxes` has them by leaf."""
        if not len(self.marks):
            return np.empty((0, 4))
        own, first = boxes[self.leaves], self.starts[:-1]
        lows, highs = np.minimum.reduceat(own[:, :2], first), np.maximum.reduceat(own[:, 2:], first)
        return np.concatenate([lows, highs], axis=1)

    def crossing(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, 4) the box across the antimeridian if the OR asks for its two sides; NaN for any other OR."""
        found = np.full((len(self.marks), 4), np.nan)
        pairs = np.flatnonzero(np.diff(self.starts) == 2)
        one, other = boxes[self.leaves[self.starts[pairs]]], boxes[self.leaves[self.starts[pairs] + 1]]
        for east, west in ((one, other), (other, one)):
            are_sides = (east[:, 2] == 180.0) & (west[:, 0] == -180.0) & (west[:, 2] < east[:, 0])
            are_sides &= (east[:, 1] == west[:, 1]) & (east[:, 3] == west[:, 3])
            edges = np.stack([east[:, 0], east[:, 1], west[:, 2], east[:, 3]], axis=1)
            found[pairs[are_sides]] = edges[are_sides]
        return found


def _around_ors(ors: Ors, boxes: NDArray[np.float64], goes_on: bool) -> NDArray[np.float64]:
    around = ors.around(boxes)
    if goes_on:
        wide = around[:, 2] > 180.0  # from a circle on the antimeridian
        around[wide, 0], around[wide, 2] = np.minimum(around[wide, 0], -180.0), np.maximum(around[wide, 2], 180.0)
        crossing = ors.crossing(boxes)
        own = ~np.isnan(crossing[:, 0])
        around[own] = crossing[own] + [0.0, 0.0, 360.0, 0.0]
    return around


# ---- shapes and circles


def _box_of(name: str, circles: bool) -> tuple[str, Bounds] | None:
    """The attribute of a predicate, and the box around its shape, from its name; None for other names."""
    reading = reading_of(name)
    if not reading.is_of_place:
        return None
    if reading.rest.startswith(DISTANCE):
        return (reading.attribute, _around(reading.rest)) if circles else None
    try:
        asked = parse(reading.rest)
    except ExpressionError:
        return None
    match asked:
        case Call(_, (_, Constant(Shape() as shape))):
            bounds = tuple(geometry_of(shape).bounds)
            return (reading.attribute, bounds) if len(bounds) == 4 else None
        case Call(_, (_, Constant(Box() | Point() as box))):
            left, lower, right, upper = box.bounds()
            return reading.attribute, (left, lower, right, upper) if left <= right else (-180.0, lower, 180.0, upper)
    return None


def _around(text: str) -> Bounds:
    """The box around a circle in one piece: across the antimeridian the western part continues eastwards."""
    try:
        circle = Circle.of_text(text)
    except ValueError as error:
        raise SegmentError(f"a condition on a distance was changed on disk: {error}. Compile it again.") from None
    *others, (left, lower, right, upper) = sorted(boxes_around(circle.centre, circle.metres))
    for _, _, end, _ in others:
        right = end + 360.0
    return left, lower, right, upper
