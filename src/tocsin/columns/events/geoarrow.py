"""Arrow columns of geometries in GeoArrow's encodings: coordinates in structs and lists, and well-known text.

GeoParquet 1.1 names an encoding in the metadata of the file, GeoArrow in that of the column. The layout of a geometry
is its nested lists of points. Each point is a struct with x and y, or a list of fixed size.

Source: https://geoarrow.org/format.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.scalars import is_text
from tocsin.columns.events.vectors import is_list
from tocsin.model.reading_shapes import plain_reason, read_texts
from tocsin.model.shapes import geometry_of, shape_of_text

_LISTS: Final = {"point": 0, "linestring": 1, "multipoint": 1, "polygon": 2, "multilinestring": 2, "multipolygon": 3}
"""How many lists are around the points of a geometry, by encoding."""
_BOX: Final = ("xmin", "ymin", "xmax", "ymax")
_OF_FILE: Final = b"geo"
_OF_COLUMN: Final = b"ARROW:extension:name"
_PREFIX: Final = "geoarrow."


def encodings_of(schema: pa.Schema, names: Iterable[str]) -> dict[str, str]:
    """The encodings of columns with geometries that are not well-known binary, by the names of the columns."""
    of_file = _in_file((schema.metadata or {}).get(_OF_FILE, b""))
    found: dict[str, str] = {}
    for name in names:
        place = schema.get_field_index(name)
        if place < 0:
            continue  # several columns have the name
        field = schema.field(place)
        extension = extension_of(field.type) or (field.metadata or {}).get(_OF_COLUMN, b"").decode("utf-8", "replace")
        is_native = extension.startswith(_PREFIX)
        encoding = extension.removeprefix(_PREFIX) if is_native else of_file.get(name, "")
        if encoding and _has_layout(storage_of(field.type), encoding):
            found[name] = encoding
    return found


def extension_of(kind: pa.DataType) -> str:
    """The name of an Arrow extension type; empty for other types."""
    return kind.extension_name if isinstance(kind, pa.BaseExtensionType) else ""


def storage_of(kind: pa.DataType) -> pa.DataType:
    """The type in which a type's values are stored."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


@lru_cache(64)
def _in_file(text: bytes) -> Mapping[str, str]:
    """The encodings that GeoParquet's metadata names, by column."""
    try:
        columns = json.loads(text)["columns"]
        return {name: str(about.get("encoding", "")).lower() for name, about in columns.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _has_layout(kind: pa.DataType, encoding: str) -> bool:
    """Whether a type is the layout of an encoding."""
    if encoding == "wkt":
        return is_text(kind)
    if encoding == "box":
        return bool(pa.types.is_struct(kind)) and all(_is_number(kind, name) for name in _BOX)
    if encoding not in _LISTS:
        return False
    for _ in range(_LISTS[encoding]):
        if not is_list(kind):
            return False
        kind = kind.value_type
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size >= 2 and bool(pa.types.is_floating(kind.value_type))
    return bool(pa.types.is_struct(kind)) and all(_is_number(kind, name) for name in "xy")


def _is_number(kind: pa.StructType, name: str) -> bool:
    place = kind.get_field_index(name)
    return place >= 0 and bool(pa.types.is_floating(kind.field(place).type))


def read_native(
    library: Any, column: pa.Array, rows: NDArray[np.int64], encoding: str
) -> tuple[NDArray[Any], Mapping[int, str]]:
    """(N,) the geometries of N rows of a column, which are not null, and why others are None, by place."""
    column = (column.storage if isinstance(column, pa.ExtensionArray) else column).take(pa.array(rows))
    if encoding == "wkt":
        return _of_texts(library, column)
    try:
        with np.errstate(all="ignore"):
            return _of_arrays(library, column, encoding), {}
    except (library.errors.ShapelyError, ValueError):
        return _one_by_one(library, column, encoding)


def _of_texts(library: Any, column: pa.Array) -> tuple[NDArray[Any], Mapping[int, str]]:
    texts = column.to_pylist()
    read, reasons = read_texts(library, texts), {}
    for place in np.flatnonzero(library.is_missing(read)).tolist():
        try:
            read[place] = geometry_of(shape_of_text(texts[place]))
        except (ValueError, RecursionError) as error:
            reasons[place] = str(error)
    return read, reasons


def _one_by_one(library: Any, column: pa.Array, encoding: str) -> tuple[NDArray[Any], Mapping[int, str]]:
    """Read each geometry alone, because one of them is wrong."""
    read, reasons = np.full(len(column), None, object), {}
    for place in range(len(column)):
        try:
            read[place] = _of_arrays(library, column.slice(place, 1), encoding)[0]
        except (library.errors.ShapelyError, ValueError) as error:
            reasons[place] = plain_reason(str(error))
    return read, reasons


def _of_arrays(library: Any, column: pa.Array, encoding: str) -> NDArray[Any]:
    """(N,) the geometries of a column; raises an error of shapely, or a `ValueError`, if one is wrong."""
    if encoding == "box":
        return np.atleast_1d(library.box(*(_numbers(column, name) for name in _BOX)))
    offsets: list[NDArray[np.int64]] = []
    for _ in range(_LISTS[encoding]):
        lengths = pc.list_value_length(column)
        if lengths.null_count:
            raise ValueError("a part of the geometry is null")
        offsets.insert(0, np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)]))
        column = column.flatten()
    if column.null_count:
        raise ValueError("a point of the geometry is null")
    kind = getattr(library.GeometryType, encoding.upper())
    return np.asarray(library.from_ragged_array(kind, _points(column), tuple(offsets) or None), object)


def _points(column: pa.Array) -> NDArray[np.float64]:
    """(N, 2) the coordinates of points; null ones are not numbers."""
    if pa.types.is_fixed_size_list(column.type):
        values = np.asarray(column.flatten().to_numpy(zero_copy_only=False), np.float64)
        return np.ascontiguousarray(values.reshape(len(column), column.type.list_size)[:, :2])
    return np.column_stack([_numbers(column, name) for name in "xy"])


def _numbers(column: pa.StructArray, name: str) -> NDArray[np.float64]:
    values = column.flatten()[column.type.get_field_index(name)]
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
