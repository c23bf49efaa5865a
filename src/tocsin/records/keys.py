"""The key attribute of matched records, as Arrow arrays."""

from __future__ import annotations

import decimal
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.model.elements import within
from tocsin.model.fence import OtherKey
from tocsin.model.subscription import Reject
from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk, TableChunk
from tocsin.records.json_lines import parse_lines

MIXED: Final = pa.struct([("json", pa.large_string()), ("other", pa.bool_())])
"""Keys of several types in one array, each as JSON, so that 5 and "5" stay distinct.

`other` is true for values that JSON does not have, which are texts: dates and bytes.
"""

_PLAIN: Final = (str, int, float, list, tuple, dict, decimal.Decimal, uuid.UUID)


def keys_at(chunk: Chunk, rows: NDArray[np.int64], name: str) -> pa.Array:
    """The values of an attribute (dotted within objects) for the records at some rows; null if absent."""
    if isinstance(chunk, TableChunk):
        return _column(chunk.table, name).take(pa.array(np.searchsorted(chunk.rows, rows)))
    if isinstance(chunk, LinesChunk):
        chunk = parse_lines(chunk, np.searchsorted(chunk.rows, rows).tolist())
    if isinstance(chunk, ObjectChunk):
        records = dict(chunk.records)
        return _array([within(records.get(row, {}), name) for row in rows.tolist()])
    places = np.searchsorted(chunk.rows, rows).tolist()
    pairs = (dict(zip(chunk.names[place].as_py(), chunk.values[place].as_py(), strict=False)) for place in places)
    return _array([pair.get(name) for pair in pairs])


def key_in(record: Mapping[str, Any], name: str) -> Any:
    """The value of an attribute of one record, as `keys_at` and `key_values` give it."""
    value = within(record, name)
    return value if value is None or type(value) in (str, int, float, bool) else key_values(_array([value]))[0]


def with_keys(rejects: list[Reject], chunk: Chunk, name: str) -> list[Reject]:
    """Rejects of a chunk's records with the keys of these as ids. A key that is neither text nor integer is a text."""
    rows = np.unique(np.array([reject.row for reject in rejects], np.int64))
    if isinstance(chunk, TableChunk):
        rows = np.intersect1d(rows, chunk.rows)  # a table lacks the rows that could not be read at all
    keys = keys_at(chunk, rows, name)
    pairs = zip(rows.tolist(), key_values(keys), as_texts(keys).to_pylist(), strict=True)
    ids = {row: key if type(key) is int else text for row, key, text in pairs}
    return [reject._replace(id=ids.get(reject.row)) for reject in rejects]


def joined_keys(parts: Sequence[pa.Array], *, exact: bool = False) -> list[pa.Array]:
    """Keys of several chunks as arrays of one type. Several types become one as in `plain`, or `MIXED` if `exact`."""
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if len(kinds) < 2 and not (MIXED in kinds and not exact):
        return [part.cast(next(iter(kinds), pa.null())) for part in parts]
    if exact:
        return [_mixed(key_values(part)) for part in parts]
    numbers = [_as_numbers(part) for part in parts]
    return [as_texts(part) for part in parts] if any(part is None for part in numbers) else numbers


def plain(keys: pa.Array) -> pa.Array:
    """Keys of several types as float64 if all of them are numbers that it holds, else as texts; others as they are."""
    if keys.type != MIXED:
        return keys
    numbers = _as_numbers(keys)
    return as_texts(keys) if numbers is None else numbers


def _as_numbers(keys: pa.Array) -> pa.Array | None:
    """Keys as float64; None if some are not numbers, or are integers that float64 does not hold."""
    if keys.type == MIXED:
        values = key_values(keys)
        if not {type(value) for value in values} <= {int, float, type(None)}:
            return None
        parts = [[value if type(value) is kind else None for value in values] for kind in (int, float)]
    elif pa.types.is_integer(keys.type) or pa.types.is_floating(keys.type) or pa.types.is_null(keys.type):
        parts = [keys]
    else:
        return None
    try:
        return pc.coalesce(*(pa.array(part).cast(pa.float64()) for part in parts))
    except (pa.ArrowException, OverflowError):
        return None


def as_texts(keys: pa.Array) -> pa.Array:
    """Convert keys to texts."""
    if keys.type == MIXED:
        return pa.array([_text(key) for key in key_values(keys)], pa.large_string())
    if pa.types.is_null(keys.type):
        return pa.nulls(len(keys), pa.large_string())
    try:
        return keys.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # for example bytes that are not UTF-8
        return pa.array([_text(key) for key in keys.to_pylist()], pa.large_string())


def key_values(keys: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Keys as Python values."""
    values: list[Any] = keys.to_pylist()
    if keys.type != MIXED:
        return values
    return [None if one is None else _decoded(one["json"], one["other"]) for one in values]


def _decoded(text: str, is_other: bool | None) -> Any:
    value = json.loads(text)
    return OtherKey(value) if is_other else value


def _column(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    """A column, or a field of a struct column; lists and structs as JSON."""
    column = _found(table, name)
    if column is None:
        return pa.nulls(table.num_rows)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return _array(array.to_pylist()) if pa.types.is_nested(array.type) else array


def _found(table: pa.Table | pa.RecordBatch, name: str) -> Any:
    for at in [len(name), *(place for place, letter in enumerate(name) if letter == ".")]:
        if name[:at] in table.schema.names:
            column = table[name[:at]]
            try:
                return pc.struct_field(column, name[at + 1 :].split(".")) if at < len(name) else column
            except (pa.ArrowException, NotImplementedError, TypeError):
                return None  # the struct has no such field
    return None


def _array(values: list[Any]) -> pa.Array:
    """An array of the values' type, or of `MIXED` if they have several: 5 stays an integer beside 0.5."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 and not kinds & {dict, list, tuple}:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError):
            pass
    return _mixed(values)


def _mixed(values: list[Any]) -> pa.Array:
    return pa.array([None if value is None else _encoded(value) for value in values], MIXED)


def _encoded(value: Any) -> dict[str, Any]:
    is_other = isinstance(value, OtherKey) or not isinstance(value, _PLAIN)
    return {"json": json.dumps(value, default=str), "other": is_other}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def keys_column(keys: list[Any], kind: pa.DataType) -> pa.Array:
    """Keys in the type of the events' keys. If types are mixed, or lost objects had another, see `plain`."""
    try:
        if kind != MIXED:
            return pa.array(keys, kind)
    except (pa.ArrowException, TypeError):
        pass
    return plain(_array(keys))
