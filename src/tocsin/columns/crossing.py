"""Boxes of events across the antimeridian, converted to shapes that consist of both sides."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.readings import inserted
from tocsin.columns.meeting import box_numbers, geometries_of
from tocsin.errors import UnsupportedError
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events


def with_crossing_shapes(batch: EventBatch, names: Collection[str] | None = None) -> EventBatch:
    """Add shapes for the boxes of some attributes (None: of all) that cross the antimeridian.

    A list that is such a box keeps its elements and gets the shape as another value. Without shapely, such boxes are
    not places.
    """
    arrays = batch.arrays
    boxes = box_numbers(arrays.types, arrays.payloads, arrays.list_boxes)
    entries = np.flatnonzero(boxes >= 0)
    entries = entries[arrays.boxes[boxes[entries], 0] > arrays.boxes[boxes[entries], 2]]
    if names is not None:
        wanted = np.array([name in names for name in batch.attributes], bool)
        entries = entries[wanted[arrays.attributes[entries]]]
    if not len(entries):
        return batch
    shapes = _shapes(arrays.boxes[boxes[entries]])
    are_lists = arrays.types[entries] == codes.LIST
    numbers = len(batch.shapes) + np.arange(len(entries))
    types, payloads, list_boxes = arrays.types.copy(), arrays.payloads.copy(), arrays.list_boxes.copy()
    list_boxes[payloads[entries[are_lists]]] = -1
    alone = entries[~are_lists]
    types[alone] = codes.UNTYPED if shapes is None else codes.SHAPE
    payloads[alone] = 0 if shapes is None else numbers[~are_lists]
    changed = arrays._replace(
        types=frozen(types, np.uint8), payloads=frozen(payloads, np.int64), list_boxes=frozen(list_boxes, np.int32)
    )
    if shapes is None:
        return replace(batch, arrays=changed)
    beside = entries[are_lists]
    owners = np.searchsorted(arrays.starts, beside, side="right") - 1
    kinds = np.full(len(beside), codes.SHAPE, np.uint8)
    changed = inserted(changed, owners, arrays.attributes[beside], kinds, numbers[are_lists])
    crossing = dict(zip(numbers.tolist(), boxes[entries].tolist(), strict=True))
    return replace(batch, arrays=changed, shapes=[*batch.shapes, *shapes.tolist()], crossing=crossing)


def with_crossing_boxes(batch: EventBatch) -> Events:
    """The events' arrays with these shapes as boxes again, for readers that know boxes across the antimeridian."""
    arrays = batch.arrays
    if not batch.crossing:
        return arrays
    boxes = np.full(len(batch.shapes), -1, np.int64)
    boxes[list(batch.crossing)] = list(batch.crossing.values())
    entries = np.flatnonzero(arrays.types == codes.SHAPE)
    entries = entries[boxes[arrays.payloads[entries]] >= 0]
    types, payloads = arrays.types.copy(), arrays.payloads.copy()
    types[entries], payloads[entries] = codes.GEOMETRY, boxes[payloads[entries]]
    return arrays._replace(types=frozen(types, np.uint8), payloads=frozen(payloads, np.int64))


def _shapes(bounds: NDArray[np.float64]) -> NDArray[Any] | None:
    try:
        return geometries_of(bounds)
    except UnsupportedError:
        return None
