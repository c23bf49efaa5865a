"""Encoding of Arrow columns of geometries, as in GeoParquet, a whole column at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.geoarrow import read_native
from tocsin.columns.events.scalars import ScalarColumn
from tocsin.columns.events.store import ValueStore
from tocsin.errors import UnsupportedError
from tocsin.kernels import codes
from tocsin.model.event import LARGEST_LATITUDE, LARGEST_LONGITUDE
from tocsin.model.reading_shapes import BYTES, plain_reason, read_binary
from tocsin.model.shapes import shapely


def is_binary(kind: pa.DataType) -> bool:
    """Whether `encode_geometries` takes columns of this type."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def encode_geometries(column: pa.Array, store: ValueStore) -> ScalarColumn:
    """Encode well-known binary. Bytes that are not a valid geometry become UNTYPED."""
    return _encode(column, store, _read_bytes)


def encode_native(column: pa.Array, store: ValueStore, encoding: str) -> ScalarColumn:
    """Encode geometries in an encoding of GeoArrow. What is not a valid geometry becomes UNTYPED."""
    return _encode(column, store, partial(read_native, encoding=encoding))


Read = Callable[[Any, pa.Array, NDArray[np.int64]], tuple[NDArray[Any], Mapping[int, str]]]
"""Reads some rows of a column by shapely: the geometries, and why others are None, by place."""


def _read_bytes(library: Any, column: pa.Array, rows: NDArray[np.int64]) -> tuple[NDArray[Any], Mapping[int, str]]:
    read, unread = read_binary(library, column.to_numpy(zero_copy_only=False)[rows])
    return read, {place: f"{BYTES}; these are not a geometry: {reason}" for place, reason in unread.items()}


def _encode(column: pa.Array, store: ValueStore, read_column: Read) -> ScalarColumn:
    """Encode points as boxes, other geometries as shapes."""
    present = pc.is_valid(column).to_numpy(zero_copy_only=False)
    count = len(column)
    types, payloads = np.full(count, codes.UNTYPED, np.uint8), np.zeros(count, np.int64)
    given = np.flatnonzero(present)
    try:
        library = shapely()
    except UnsupportedError as error:
        return ScalarColumn(present, types, payloads, [(place, error.reason) for place in given.tolist()])
    read, unread = read_column(library, column, given)
    read = library.force_2d(read)
    reasons = _problems(library, read, unread)
    sound = np.flatnonzero(reasons == "")
    is_point = library.get_type_id(read[sound]) == 0
    points, shapes = sound[is_point], sound[~is_point]
    bounds = library.bounds(read[points])
    types[given[points]], payloads[given[points]] = codes.GEOMETRY, store.boxes + np.arange(len(points))
    store.extend("bounds", bounds.ravel())
    types[given[shapes]], payloads[given[shapes]] = codes.SHAPE, len(store.shapes) + np.arange(len(shapes))
    store.shapes.extend(read[shapes].tolist())
    problems = [(int(given[place]), str(reasons[place])) for place in np.flatnonzero(reasons != "").tolist()]
    return ScalarColumn(present, types, payloads, problems)


def encode_degrees(latitudes: pa.Array, longitudes: pa.Array, store: ValueStore) -> ScalarColumn:
    """Encode points in degrees as boxes. Pairs that are not numbers of degrees are not there."""
    count = len(latitudes)
    nothing = np.zeros(count, bool), np.zeros(count, np.uint8), np.zeros(count, np.int64)
    if not all(pa.types.is_integer(one.type) or pa.types.is_floating(one.type) for one in (latitudes, longitudes)):
        return ScalarColumn(*nothing, [])
    x, y = (
        pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
        for column in (longitudes, latitudes)
    )
    present, types, payloads = nothing
    present |= (np.abs(x) <= LARGEST_LONGITUDE) & (np.abs(y) <= LARGEST_LATITUDE)
    types[present], payloads[present] = codes.GEOMETRY, store.boxes + np.arange(int(present.sum()))
    store.extend("bounds", np.column_stack([x, y, x, y])[present].ravel())
    return ScalarColumn(present, types, payloads, [])


def _problems(library: Any, read: NDArray[Any], unread: Mapping[int, str]) -> NDArray[Any]:
    """The reason why each geometry is wrong; empty if it is valid."""
    reasons = np.full(len(read), "", object)
    for place, reason in unread.items():
        reasons[place] = reason if reason.startswith(BYTES) else f"this is not a geometry: {reason}"
    there = np.flatnonzero(~library.is_missing(read))
    reasons[there[library.is_empty(read[there])]] = "this is not a geometry: the geometry is empty"
    there = np.flatnonzero(reasons == "")
    finite = np.isfinite(library.bounds(read[there])).all(axis=1)
    reasons[there[~finite]] = "this is not a geometry: a coordinate is not a finite number"
    there = there[finite]
    wrong = there[~library.is_valid(read[there])]
    said = map(plain_reason, library.is_valid_reason(read[wrong]).tolist())
    reasons[wrong] = [f"this is not a geometry: {reason}" for reason in said]
    return reasons
