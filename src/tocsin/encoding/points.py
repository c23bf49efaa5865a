"""Points made from two attributes, such as longitude and latitude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.readings import inserted
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.meeting import box_numbers
from tocsin.columns.payloads import numbers_of
from tocsin.errors import InvalidInput
from tocsin.kernels import codes
from tocsin.model.event import flatten

Points = Mapping[str, tuple[str, str]]
"""The attributes of x and y for each point: `{"location": ("lon", "lat")}`."""


def checked_points(points: Any) -> Points:
    """Check the mapping; the result is empty for None. Raises `InvalidInput` for anything else."""
    if points is None:
        return {}
    is_sound = isinstance(points, Mapping) and all(
        isinstance(name, str)
        and isinstance(pair, list | tuple)
        and len(pair) == 2
        and all(isinstance(p, str) for p in pair)
        for name, pair in points.items()
    )
    if not is_sound:
        raise InvalidInput(f"points is {points!r:.80}; it maps names to pairs of names: {{'location': ('lon', 'lat')}}")
    return {name: (pair[0], pair[1]) for name, pair in points.items()}


def with_coordinates(wanted: Wanted, points: Points) -> Wanted:
    """Add the coordinates of wanted points to what is read from events."""
    return wanted.also({name for point, pair in points.items() if point in wanted for name in pair})


def with_points(batch: EventBatch, wanted: Wanted, points: Points) -> EventBatch:
    """Add a point to each event that has both coordinates as numbers, unless it has a value for the point itself."""
    for point, (x, y) in points.items():
        numbers = wanted.numbers if batch.attributes is wanted.ordered else _numbered(batch.attributes)
        if x in numbers and y in numbers and point in wanted:
            batch = _with_point(batch, numbers, point, x, y)
    return batch


def _numbered(names: list[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _with_point(batch: EventBatch, numbers: Mapping[str, int], point: str, x: str, y: str) -> EventBatch:
    names = batch.attributes if point in numbers else [*batch.attributes, point]
    number, arrays = numbers.get(point, len(names) - 1), batch.arrays
    owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
    coordinates = np.full((len(batch), 2), np.nan)
    for axis, name in enumerate((x, y)):
        own = (arrays.attributes == numbers[name]) & (arrays.types == codes.NUMBER)
        coordinates[owners[own], axis] = numbers_of(arrays.payloads[own])
    chosen = ~np.isnan(coordinates).any(axis=1)
    chosen[owners[arrays.attributes == number]] = False
    events = np.flatnonzero(chosen)
    boxes = np.concatenate([arrays.boxes, coordinates[events][:, [0, 1, 0, 1]]])
    changed = inserted(
        arrays._replace(boxes=frozen(boxes, np.float64)),
        events,
        np.full(len(events), number, np.int32),
        np.full(len(events), codes.GEOMETRY, np.uint8),
        len(arrays.boxes) + np.arange(len(events)),
    )
    return replace(batch, arrays=changed, attributes=names)


def points_of(record: Mapping[str, Any], points: Points) -> dict[str, list[float]]:
    """The points of one event, as lists of two numbers; a value that the event has for a point goes before."""
    values = flatten(record).values
    pairs = {name: (values.get(x), values.get(y)) for name, (x, y) in points.items() if name not in values}
    return {name: [x, y] for name, (x, y) in pairs.items() if isinstance(x, float) and isinstance(y, float)}


def without_places(batch: EventBatch, points: Sequence[tuple[float, float]]) -> EventBatch:
    """Remove places equal to one of some points, which mean that the place is not known."""
    arrays = batch.arrays
    if not len(arrays.boxes) or (len(arrays.boxes) <= _FEW and not _has_one(arrays.boxes.tolist(), points)):
        return batch
    is_one = np.zeros(len(arrays.boxes), bool)
    for x, y in points:
        is_one |= (arrays.boxes == np.array([x, y, x, y])).all(axis=1)
    boxes = box_numbers(arrays.types, arrays.payloads, arrays.list_boxes)
    gone = np.zeros(len(arrays.types), bool)
    gone[boxes >= 0] = is_one[boxes[boxes >= 0]]
    if not gone.any():
        return batch
    owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
    changed = arrays._replace(
        starts=starts_of(np.bincount(owners[~gone], minlength=len(batch)), len(batch)),
        attributes=frozen(arrays.attributes[~gone], np.int32),
        types=frozen(arrays.types[~gone], np.uint8),
        payloads=frozen(arrays.payloads[~gone], np.int64),
    )
    return replace(batch, arrays=changed)


_FEW: Final = 16
"""For up to this many boxes, as of one event, the overhead of NumPy's calls exceeds their work."""


def _has_one(boxes: Sequence[Sequence[float]], points: Sequence[tuple[float, float]]) -> bool:
    return any((x, y) in points and (right, upper) == (x, y) for x, y, right, upper in boxes)
