"""Which box must be met where a place is asked to touch, meet or lie in a shape? The shape's own, which is verified.

Such a predicate is a boolean of the event (`model.readings`), TRUE only where the box around the shape is met. So an
expression that asks for one, and for no box, is seen as if it asked for that box, too. So may one be that asks for a
circle on the sphere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions, leaf_arrays
from tocsin.errors import ExpressionError, SegmentError
from tocsin.index.spatial_text.kernels.choosing import with_boxes
from tocsin.kernels import codes
from tocsin.language import parse
from tocsin.language.distances import Circle, boxes_around
from tocsin.model.expression import DISTANCE, Call, Constant
from tocsin.model.readings import reading_of
from tocsin.model.shapes import geometry_of
from tocsin.model.values import Box, Point, Shape

_Bounds = tuple[float, float, float, float]


def with_boxes_of_shapes(compiled: CompiledExpressions, *, circles: bool = False) -> CompiledExpressions:
    """The same, which ask for the boxes of their shapes, too; to find them by. Itself where there are no shapes.

    With `circles` also for the boxes of these, which go on beyond 180 degrees where a circle lies on the antimeridian.
    Attributes are added behind the others. Cost: linear, and to parse each predicate about a shape once.
    """
    used = set(np.unique(compiled.arrays.leaf_attributes).tolist())
    asked = ((number, name) for number, name in enumerate(compiled.attributes) if number in used)
    found = [(number, *box) for number, name in asked if (box := _box_of(name, circles)) is not None]
    if not found:
        return compiled
    attributes = list(dict.fromkeys([*compiled.attributes, *(place for _, place, _ in found)]))
    arrays, numbers = compiled.arrays, {name: number for number, name in enumerate(attributes)}
    first, boxes = len(arrays.leaf_kinds), np.array([bounds for _, _, bounds in found])
    added = leaf_arrays(
        len(found),
        kinds=codes.INTERSECTS,
        types=codes.GEOMETRY,
        attributes=np.array([numbers[place] for _, place, _ in found]),
        others=len(arrays.boxes) + np.arange(len(found)),
    )
    leaves = {name: _end_to_end(getattr(arrays, name), more) for name, more in added.items()}
    starts, program = with_boxes(arrays, _leaf_boxes(compiled, [number for number, _, _ in found], first))
    whole = arrays._replace(
        program_starts=frozen(starts, np.int64),
        program=frozen(program, np.int32),
        boxes=frozen(np.concatenate([arrays.boxes, boxes]), np.float64),
        **leaves,
    )
    return replace(compiled, arrays=whole, attributes=attributes).with_attributes(len(attributes))


def _leaf_boxes(compiled: CompiledExpressions, attributes: Sequence[int], first: int) -> NDArray[np.int32]:
    """(F,) the leaf of the box that each leaf is to have beside it, -1; they are numbered from `first` on."""
    of_attributes = np.full(len(compiled.attributes), -1, np.int32)
    of_attributes[attributes] = first + np.arange(len(attributes))
    return frozen(of_attributes[compiled.arrays.leaf_attributes], np.int32)


def _box_of(name: str, circles: bool) -> tuple[str, _Bounds] | None:
    """The attribute and the box around the shape that a predicate, by its name, is about; None of any other name."""
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


def _around(text: str) -> _Bounds:
    """The box around a circle, in one piece: of two across the antimeridian the western one goes on eastwards."""
    try:
        circle = Circle.of_text(text)
    except ValueError as error:
        raise SegmentError(f"a condition on a distance was changed on disk: {error}. Compile it again.") from None
    *others, (left, lower, right, upper) = sorted(boxes_around(circle.centre, circle.metres))
    for _, _, end, _ in others:
        right = end + 360.0
    return left, lower, right, upper


def _end_to_end(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    return frozen(np.concatenate([one, other]), one.dtype)
