"""Decoding of a batch's events to values, for the evaluation of an expression on one event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.payloads import numbers_of
from tocsin.kernels import codes
from tocsin.language.keywords import lines_of
from tocsin.model.elements import Elements, at_moment
from tocsin.model.readings import as_elements, as_text, is_reading, reading_of
from tocsin.model.shapes import shape_of_geometry
from tocsin.model.values import UNTYPED, Box, Instant, Point, Range, Scalar, Value


def values_of(batch: EventBatch, event: int) -> dict[str, Value | Elements]:
    """The values of an event by attribute, and the elements of its lists, as from `model.elements.values_for`.

    A list becomes the set of its elements; a list that is a place keeps its order. Cost: some microseconds a value.
    """
    arrays, values = batch.arrays, dict[str, Value | Elements]()
    for entry in range(int(arrays.starts[event]), int(arrays.starts[event + 1])):
        name = batch.attributes[arrays.attributes[entry]]
        if not is_reading(name) or reading_of(name).is_null:
            values[name] = value_at(batch, int(arrays.types[entry]), int(arrays.payloads[entry]))
    for name, how in batch.texts.items():
        value = values.get(name)
        if not isinstance(value, Elements) and (lines := lines_of(value, how)) is not None:
            words = tuple(dict.fromkeys(word for line in lines for word in line))
            values |= {as_text(name): value, name: words}  # type: ignore[dict-item]
    for name, lists in batch.elements.items():
        if event in lists.events:
            values[as_elements(name)] = _elements(lists, event)
    if batch.now is not None:
        now = batch.now if isinstance(batch.now, int) else batch.now[event]
        at_moment(values, Instant(int(now)))
    return values


def _elements(lists: ListElements, event: int) -> Elements:
    numbers = np.flatnonzero(lists.owners == event)
    places = {int(row): place for place, row in enumerate(lists.batch.rows.tolist())}
    found: list[Mapping[str, Value | Elements] | None] = [
        values_of(lists.batch, places[number]) if number in places else None for number in numbers.tolist()
    ]
    return Elements(found)


def value_at(batch: EventBatch, kind: int, payload: int) -> Value:
    """The value that an entry of a batch, or an element of a list, has."""
    arrays = batch.arrays
    if kind == codes.LIST:
        return _list(batch, payload)
    if kind == codes.GEOMETRY:
        left, lower, right, upper = arrays.boxes[payload].tolist()
        return Point(left, lower) if (left, lower) == (right, upper) else Box(left, lower, right, upper)
    if kind == codes.SHAPE:
        return shape_of_geometry(batch.shapes[payload])
    if kind == codes.UNTYPED:
        return UNTYPED
    if kind >= codes.RANGED:
        return _range(batch, kind - codes.RANGED, arrays.ranges[payload])
    return _scalar(batch, kind, payload)


def _scalar(batch: EventBatch, kind: int, payload: int) -> Scalar:
    if kind == codes.STRING:
        return batch.strings[payload]
    if kind == codes.BOOLEAN:
        return bool(payload)
    if kind == codes.INSTANT:
        return Instant(payload)
    return float(numbers_of(np.array([payload], np.int64))[0])


def _list(batch: EventBatch, number: int) -> tuple[Scalar, ...]:
    arrays = batch.arrays
    span = slice(int(arrays.list_starts[number]), int(arrays.list_starts[number + 1]))
    pairs = zip(arrays.list_types[span].tolist(), arrays.list_payloads[span].tolist(), strict=True)
    elements = tuple(_scalar(batch, kind, payload) for kind, payload in pairs)
    if arrays.list_boxes[number] < 0:
        return elements
    left, lower, right, upper = arrays.boxes[arrays.list_boxes[number]].tolist()
    is_point = (left, lower) == (right, upper) and len(elements) <= len(_POINT)
    corners = (left, lower) if is_point else (left, lower, right, upper)
    altitudes = [one for one in elements if one not in corners]
    if not altitudes:
        return corners
    low, high = altitudes[0], altitudes[-1]
    return (left, lower, low) if is_point else (left, lower, low, right, upper, high)


_POINT = (0, 1, 2)
"""Positions of the coordinates of a point, altitude included."""


def _range(batch: EventBatch, kind: int, ends: NDArray[np.int64]) -> Range:
    """Decode a range, which is stored as (high, low), or as (low, high) if it is contained."""
    high, low = ends.tolist()
    contained = low > high
    first, last = (high, low) if contained else (low, high)
    lo, hi = (cast(float | Instant, _scalar(batch, kind, end)) for end in (first, last))
    return Range(lo, hi, contained=contained)
