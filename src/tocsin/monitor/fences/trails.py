"""Trails of objects: the line from an object's last position becomes the place of its next event.

Matching therefore finds subscriptions that an object crosses between two events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.index.places.places import Places
from tocsin.kernels import codes
from tocsin.model.fence import ObjectKey, Position, plain_key, problem_of
from tocsin.model.shapes import shapely

BEFORE: Final = -1


class Trail:
    """The positions of objects under one attribute, through the events of a source; `last` returns earlier ones.

    Lines are built before it is known which objects are lost in between. `starts` has the row where each line begins.
    """

    def __init__(self, path: str, last: Callable[[ObjectKey], Position | None]) -> None:
        self.path = path
        self._last = last
        self.moved: dict[ObjectKey, int] = {}  # the row of each object's last position in this source
        self.places: dict[int, Position] = {}  # by row, the position of its object
        self.has_points = False  # whether an event of this source has a point there
        self.starts: dict[int, int] = {}  # by row, the row where its line begins; BEFORE for one before this source

    def lines(self, batches: Sequence[EventBatch], keys: Mapping[int, Any]) -> tuple[list[EventBatch], list[int]]:
        """The events of moved objects with lines as places, and their rows.

        `keys` has the object of each row. Rows ascend from call to call.
        """
        ways: list[list[tuple[int, Position, Position]]] = [[] for _ in batches]
        rows: list[int] = []
        for row, batch, event, here in self._positions(batches):
            self.has_points = True
            key = keys.get(row)
            if problem_of(key, ""):
                continue
            key = plain_key(key)
            start = self.moved.get(key, BEFORE)
            before = self._last(key) if start == BEFORE else self.places[start]
            self.moved[key], self.places[row] = row, here
            if before is not None and before != here:
                ways[batch].append((event, before, here))
                rows.append(row)
                self.starts[row] = start
        moved = [self._with_lines(batch, own) for batch, own in zip(batches, ways, strict=True) if own]
        return moved, rows

    def _positions(self, batches: Sequence[EventBatch]) -> Iterator[tuple[int, int, int, Position]]:
        """Row, batch, event and point of each event that has a point, by row."""
        found = []
        for number, batch in enumerate(batches):
            places = Places.of(batch, self.path)
            for place in np.flatnonzero(places.are_points()).tolist():
                event, (x, y) = int(places.events[place]), places.bounds[place, :2].tolist()
                found.append((int(batch.rows[event]), number, event, (x, y)))
        return iter(sorted(found))

    def _with_lines(self, batch: EventBatch, ways: Sequence[tuple[int, Position, Position]]) -> EventBatch:
        arrays = batch.arrays
        owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
        entries = np.flatnonzero(arrays.attributes == batch.attributes.index(self.path))
        chosen = entries[np.searchsorted(owners[entries], [event for event, _, _ in ways])]
        types, payloads = arrays.types.copy(), arrays.payloads.copy()
        types[chosen], payloads[chosen] = codes.SHAPE, len(batch.shapes) + np.arange(len(ways))
        shapes = [*batch.shapes, *_lines(np.array([(before, here) for _, before, here in ways]))]
        changed = arrays._replace(types=frozen(types, np.uint8), payloads=frozen(payloads, np.int64))
        return replace(batch, arrays=changed, shapes=shapes)


def _lines(ends: NDArray[np.float64]) -> list[Any]:
    """Straight lines on the plane; a line that is shorter across the antimeridian becomes its two parts."""
    lines: list[Any] = shapely().linestrings(ends).tolist()
    (x, y), (to_x, to_y) = ends[:, 0].T, ends[:, 1].T
    on_globe = (np.abs(ends[:, :, 0]) <= 180).all(axis=1) & (np.abs(ends[:, :, 1]) <= 90).all(axis=1)
    for number in np.flatnonzero(on_globe & (np.abs(to_x - x) > 180)).tolist():
        side = np.copysign(180.0, x[number])
        whole = 360 - abs(to_x[number] - x[number])
        share = (180 - abs(x[number])) / whole if whole else 0.0
        height = y[number] + share * (to_y[number] - y[number])
        first, second = [(x[number], y[number]), (side, height)], [(-side, height), (to_x[number], to_y[number])]
        parts = [part for part in (first, second) if part[0] != part[1]]
        lines[number] = shapely().multilinestrings(parts)
    return lines
