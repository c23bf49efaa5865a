"""Arrow streams from the network. What a few bytes could make huge is refused before it is decoded."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc

from tocsin.model.python_values import Unreadable, python_values, unknown_zone
from tocsin.model.subscription import Reject
from tocsin.service.problems import Problem

MEDIA_TYPE: Final = "application/vnd.apache.arrow.stream"
_MOST_ROWS: Final = 1_000_000
_MOST_VALUES: Final = 20_000_000
_MOST_BYTES: Final = 256 << 20
"""Of strings that a dictionary repeats."""
_MOST_DEPTH: Final = 16
_AT_ONCE: Final = 8192
_COMPRESSION: Final = 3
"""The slot of the field in a record batch's header (Message.fbs)."""


def read_table(body: bytes) -> pa.Table:
    """The table of an Arrow stream; raises a `Problem` for one that is damaged, or too large when it is decoded."""
    try:
        if _is_compressed(body):
            raise Problem(415, "arrow", "the Arrow stream is compressed; write it without compression")
        with ipc.open_stream(io.BytesIO(body)) as reader:
            for field in reader.schema:
                _check_type(field.type, field.name)
            batches = []
            rows = 0
            for batch in reader:
                rows += batch.num_rows
                if rows > _MOST_ROWS or rows * max(len(batch.schema), 1) > _MOST_VALUES:
                    raise Problem(413, "size", f"a stream has at most {_MOST_ROWS:,} rows and {_MOST_VALUES:,} values")
                batch.validate(full=True)
                batches.append(batch)
            table = pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        raise Problem(400, "arrow", f"the body is not an Arrow stream: {error!s:.200}") from None
    if len(set(table.column_names)) < len(table.column_names):
        raise Problem(400, "arrow", "two columns have the same name")
    return _plain(table)


def _plain(table: pa.Table) -> pa.Table:
    """The table with its dictionaries as plain columns."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            lengths = 0
            for chunk in table.column(place).chunks:
                own = pc.fill_null(pc.binary_length(chunk.dictionary), 0).take(chunk.indices)
                lengths += pc.sum(own).as_py() or 0
            if lengths > _MOST_BYTES:
                raise Problem(413, "size", f"the column {field.name!r:.40} is too large without its dictionary")
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _check_type(kind: pa.DataType, name: str, depth: int = 0) -> None:
    """Raise a `Problem` for types whose values can be larger than their bytes."""
    types = pa.types
    if depth > _MOST_DEPTH:
        raise Problem(400, "arrow", f"the column {name!r:.40} is nested too deep")
    if types.is_list(kind) or types.is_large_list(kind):
        return _check_type(kind.value_type, name, depth + 1)
    if types.is_fixed_size_list(kind) and 1 <= kind.list_size <= 64:
        return _check_type(kind.value_type, name, depth + 1)
    if types.is_struct(kind) and kind.num_fields:
        for inner in kind:
            _check_type(inner.type, name, depth + 1)
        return None
    is_words = types.is_dictionary(kind) and (
        types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
    )
    if is_words and not depth:
        return None
    plain = (
        types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_string,
        types.is_large_string, types.is_binary, types.is_large_binary, types.is_temporal,
    )  # fmt: skip
    if any(is_kind(kind) for is_kind in plain) or (types.is_null(kind) and not depth):
        return None
    raise Problem(415, "arrow", f"the column {name!r:.40} has the type {kind!s:.60}, which is not taken here")


def _is_compressed(body: bytes) -> bool:
    """Whether a message's header names a compression: it says so before anything is decoded."""
    at = 0
    while at + 8 <= len(body):
        (mark,) = struct.unpack_from("<I", body, at)
        at += 4 if mark == 0xFFFFFFFF else 0
        (size,) = struct.unpack_from("<i", body, at)
        at += 4
        if size <= 0:
            return False
        length, is_compressed = _header(body[at : at + size])
        if is_compressed:
            return True
        at += size + length
    return False


def _header(message: bytes) -> tuple[int, bool]:
    """The length of the body that follows a message, and whether its buffers are compressed."""
    root = struct.unpack_from("<I", message)[0]
    kind_at, header_at, length_at = (_slot(message, root, slot) for slot in (1, 2, 3))
    length = struct.unpack_from("<q", message, length_at)[0] if length_at else 0
    if length < 0:
        raise ValueError("a message has a negative length")
    kind = message[kind_at] if kind_at else 0
    if not header_at or kind not in (2, 3):  # a dictionary batch, a record batch
        return length, False
    header = header_at + struct.unpack_from("<I", message, header_at)[0]
    if kind == 2:
        data_at = _slot(message, header, 1)
        if not data_at:
            return length, False
        header = data_at + struct.unpack_from("<I", message, data_at)[0]
    return length, bool(_slot(message, header, _COMPRESSION))


def _slot(message: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table is; 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", message, table)[0]
    if vtable < 0 or 4 + 2 * number + 2 > struct.unpack_from("<H", message, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", message, vtable + 4 + 2 * number)[0]
    return table + offset if offset else 0


def records(table: pa.Table, *, has_infinity: bool = True) -> Iterator[dict[str, Any] | Problem]:
    """The rows as JSON objects; a problem in place of one with a value that no text shows, such as a year 12000.

    NaN is null, and so are infinite numbers unless `has_infinity`.
    """
    names = table.column_names
    for batch in table.to_batches(_AT_ONCE):
        columns, faults = list[list[Any]](), dict[int, Problem]()
        for name, column in zip(names, batch.columns, strict=True):
            values, unreadable = _json_values(column, has_infinity=has_infinity)
            columns.append(values)
            for place, reason in unreadable.items():
                faults.setdefault(place, Problem(422, "arrow", f"{name[:80]}: {reason}", field=name))
        rows = zip(*columns, strict=True) if columns else [()] * batch.num_rows
        for place, row in enumerate(rows):
            yield faults.get(place) or dict(zip(names, row, strict=True))


def texts(table: pa.Table) -> tuple[list[str], list[Reject]]:
    """The rows as JSON, without the columns that are null. One that no text shows is an empty object, and a reject."""
    encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
    written, rejects = [], list[Reject]()
    for number, record in enumerate(records(table, has_infinity=False)):
        if isinstance(record, Problem):
            rejects.append(Reject(number, None, str(record.more["field"]), record.detail))
            record = {}
        written.append(encode({name: value for name, value in record.items() if value is not None}))
    return written, rejects


def _json_values(column: pa.Array, *, has_infinity: bool) -> tuple[list[Any], dict[int, str]]:
    """The values of a column as JSON has them, and the reasons why some cannot be shown, by row."""
    kind, types = column.type, pa.types
    values, unreadable = python_values(column), dict[int, str]()
    if types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return values, unreadable
    if types.is_floating(kind):
        return [None if value is None else _number(value, has_infinity) for value in values], unreadable
    zone = unknown_zone(kind)
    for row, value in enumerate(values):
        if value is None:
            continue
        if zone is not None:
            unreadable[row] = f"the time zone {zone!r:.40} is not known"
        elif isinstance(value, Unreadable):
            unreadable[row] = f"the value cannot be shown: {value.reason}"
        else:
            values[row] = _json_value(value, has_infinity)
    return values, unreadable


def _number(value: float, has_infinity: bool) -> float | None:
    """A number as JSON has it: NaN is null."""
    return value if value - value == 0 or (has_infinity and value == value) else None


def _json_value(value: Any, has_infinity: bool) -> Any:
    """A value of Arrow as JSON has it, or as a text."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return _number(value, has_infinity)
    if kind is dict:
        return {name: _json_value(inner, has_infinity) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(inner, has_infinity) for inner in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return base64.b64encode(value).decode() if kind is bytes else str(value)


_PLAIN: Final = frozenset((str, int, bool, type(None)))
"""Types whose values JSON has as they are."""
