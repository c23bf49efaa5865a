"""Rings of polygons as arrays, from which kernels decide conditions without a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, frozen_table, on_cache_line, starts_of
from tocsin.kernels.areas import RECORD, SIDE, Areas, write_records
from tocsin.kernels.reading.polygons import Corners, read_polygons
from tocsin.model.shapes import shapely

_POLYGON: Final = 3
_MULTIPOLYGON: Final = 6


class Rings(NamedTuple):
    """The rings of some shapes; shapes that are not polygons have none. S shapes, R rings, V corners."""

    bounds: NDArray[np.float64]  # (S, 4)
    rings: NDArray[np.int64]  # (S,) number of rings of each shape
    corners: NDArray[np.int64]  # (R,) number of corners of each ring, with its first one repeated at the end
    places: NDArray[np.float64]  # (V, 2)

    @classmethod
    def of(cls, shapes: NDArray[Any]) -> Rings:
        library = shapely()
        kinds = library.get_type_id(shapes)
        is_area = (kinds == _POLYGON) | (kinds == _MULTIPOLYGON)
        owners = np.repeat(np.flatnonzero(is_area), library.get_num_geometries(shapes[is_area]))
        parts, in_many = shapes[owners], kinds[owners] == _MULTIPOLYGON
        parts[in_many] = library.get_parts(shapes[kinds == _MULTIPOLYGON])
        rings = library.get_num_interior_rings(parts) + 1
        numbers = np.bincount(owners, rings, len(shapes)).astype(np.int64)
        return cls(library.bounds(shapes), numbers, _corners(parts, rings), library.get_coordinates(parts))

    @classmethod
    def of_texts(cls, texts: Sequence[str], others: Callable[[list[int]], NDArray[Any]]) -> Rings:
        """Those of well-known texts. Most polygons need no library; `others` makes shapes of the rest, by number."""
        own = Texts.of(texts)
        held = own.data.tobytes()
        room = Corners(
            np.empty((len(texts), 4)),
            np.empty(len(texts), np.int64),
            np.empty(held.count(b"("), np.int64),
            np.empty((held.count(b",") + len(texts), 2)),
        )
        rings, corners = read_polygons(own.data, own.starts, room)
        found = cls(room.bounds, room.rings, room.corners[:rings], room.places[:corners])
        rest = np.flatnonzero(found.rings == 0)
        return found._with(rest, cls.of(others(rest.tolist()))) if len(rest) else found

    def _with(self, numbers: NDArray[np.int64], others: Rings) -> Rings:
        """The same, with the rings of some shapes that have none here. Writes into the arrays of this one."""
        owners = np.concatenate([self._owners(), numbers[others._owners()]])
        corners = np.concatenate([self.corners, others.corners])
        places = np.concatenate([self.places, others.places])
        self.bounds[numbers], self.rings[numbers] = others.bounds, others.rings
        order = np.argsort(owners, kind="stable")
        of_places = np.argsort(np.repeat(owners, corners), kind="stable")
        return self._replace(corners=corners[order], places=places[of_places])

    def _owners(self) -> NDArray[np.int64]:
        """The shape of each ring."""
        return np.repeat(np.arange(len(self.rings)), self.rings)


def _corners(parts: NDArray[Any], rings: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of corners of each ring of some polygons; only rings of polygons with holes are made."""
    library = shapely()
    corners = np.repeat(library.get_num_coordinates(parts), rings).astype(np.int64)
    with_holes = rings > 1
    corners[np.repeat(with_holes, rings)] = library.get_num_coordinates(library.get_rings(parts[with_holes]))
    return corners


def areas_of(pieces: Sequence[Rings]) -> Areas:
    """The kernels' tables of shapes given in pieces. Cost: linear in the corners, and in the cells of each shape."""
    rings = Rings(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))
    starts, places = _chains(rings)
    count = len(rings.bounds)
    records = on_cache_line(count * RECORD, np.uint64).reshape(count, RECORD)
    rows = on_cache_line(count * SIDE, np.uint64).reshape(count, SIDE)
    xs, ys = (frozen(places[:, axis], np.float64) for axis in (0, 1))
    areas = Areas(starts, xs, ys, records, rows)
    write_records(areas, _frames(rings.bounds))
    return frozen_table(areas)


def _chains(rings: Rings) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The corners of each shape as one chain, and where chains begin.

    After each ring except a shape's first, the first corner of the shape is inserted.
    """
    ring_starts, corner_starts = starts_of(rings.rings, len(rings.rings)), starts_of(rings.corners, len(rings.corners))
    owners = rings._owners()
    more = np.arange(len(owners)) != ring_starts[owners]
    places = rings.places
    if more.any():
        begins = places[corner_starts[ring_starts[owners[more]]]]
        places = np.insert(places, corner_starts[1:][more], begins, axis=0)
    lengths = np.bincount(owners, rings.corners + more, len(rings.rings))
    return starts_of(lengths.astype(np.int64), len(rings.rings)), places


def _frames(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """(P, 4) the origin of each box's cells, and the cells per unit; 1 for a side without length."""
    sides = bounds[:, 2:] - bounds[:, :2]
    with np.errstate(divide="ignore", over="ignore"):
        scales = np.where(sides > 0, SIDE / sides, 1.0)
    frames = np.concatenate([bounds[:, :2], np.where(np.isfinite(scales), scales, 1.0)], axis=1)
    return np.ascontiguousarray(frames)
