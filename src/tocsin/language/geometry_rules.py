"""Rules that make geometry constants from the coordinates in text and GeoJSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tocsin.errors import InvalidInput, UnsupportedError
from tocsin.language.functions import not_supported
from tocsin.language.misplaced import Misplaced
from tocsin.model.expression import Constant, Span
from tocsin.model.shapes import shape_of, shape_of_geojson
from tocsin.model.values import Box, Point, Shape


def point(coordinates: Sequence[float], *, span: Span | None = None) -> Constant:
    """Make a point from two numbers; a third is ignored."""
    if len(coordinates) == 4:
        raise Misplaced(not_supported("POINT with four coordinates"), unsupported=True)
    if len(coordinates) not in (2, 3):
        raise Misplaced(f"POINT takes two numbers, POINT(x y), not {len(coordinates)}")
    return Constant(Point(*coordinates[:2]), span=span)


def box(coordinates: Sequence[float], *, span: Span | None = None) -> Constant:
    """Make a box from four numbers; with six, the third dimension is ignored."""
    if len(coordinates) == 6:
        if coordinates[2] > coordinates[5]:
            raise Misplaced(
                f"the box has a lowest z of {coordinates[2]:g} and a highest of {coordinates[5]:g}; write xmin, ymin, "
                "zmin, xmax, ymax, zmax"
            )
        coordinates = [*coordinates[:2], *coordinates[3:5]]
    if len(coordinates) != 4:
        raise Misplaced(f"BBOX takes four numbers (xmin, ymin, xmax, ymax) or six, not {len(coordinates)}")
    try:
        return Constant(Box(*coordinates), span=span)
    except InvalidInput as error:
        raise Misplaced(str(error)) from None


def shape(text: str, *, span: Span | None = None) -> Constant:
    """Make a line, polygon or collection from well-known text."""
    return _shape(lambda: shape_of(text), span)


def geojson_shape(document: Any, *, span: Span | None = None) -> Constant:
    """Make a line, polygon or collection from GeoJSON."""
    return _shape(lambda: shape_of_geojson(document), span)


def _shape(read: Callable[[], Shape], span: Span | None) -> Constant:
    try:
        return Constant(read(), span=span)
    except UnsupportedError as error:
        raise Misplaced(error.reason, unsupported=True) from None
    except ValueError as error:
        raise Misplaced(f"this is not a geometry: {error}") from None
