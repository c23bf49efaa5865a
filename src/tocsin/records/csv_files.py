"""How is CSV read? Column types come from the schema, else from the first block; later misfits are of no type.

An empty field is absence, `""` an empty string. A row with the wrong number of fields is a reject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.model.subscription import Reject
from tocsin.records.chunks import TableChunk
from tocsin.records.files import readable

ColumnType: TypeAlias = Literal["number", "string", "boolean", "instant"]

_INSTANT = pa.timestamp("us", "UTC")
_ARROW: Final[dict[str, pa.DataType]] = {
    "number": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "instant": _INSTANT,
}
COLUMN_TYPES: Final = tuple(_ARROW)
_BLOCK_BYTES: Final = 1 << 20


def read_csv(path: str | Path, schema: Mapping[str, ColumnType]) -> Iterator[TableChunk]:
    """The rows of a CSV file with a header, in blocks of about a megabyte."""
    size = readable(path).stat().st_size
    if size == 0:
        return
    invalid: list[arrow_csv.InvalidRow] = []
    types = _column_types(path, schema)
    reader = _open(path, dict.fromkeys(types, pa.binary()), invalid.append)
    first_row = read = reported = 0
    while True:
        try:
            block = reader.read_next_batch()
        except StopIteration:
            break
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"{path} cannot be read as CSV: {error}") from None
        bad = [row.number - 2 for row in invalid[reported:]]  # physical rows count from 1, the header included
        rejects = [
            Reject(
                at, None, "", f"line {row.number}: {row.actual_columns} fields; the header has {row.expected_columns}"
            )
            for at, row in zip(bad, invalid[reported:], strict=True)
        ]
        reported = len(invalid)
        rows = np.setdiff1d(np.arange(first_row, first_row + block.num_rows + len(bad)), bad)
        first_row += block.num_rows + len(bad)
        read += block.nbytes
        table, misfits, problems = _convert(block, types, rows)
        yield TableChunk(table, rows, misfits, rejects + problems, min(read / size, 1.0))


def _open(
    path: str | Path, types: Mapping[str, pa.DataType], on_invalid: Callable[[arrow_csv.InvalidRow], None]
) -> arrow_csv.CSVStreamingReader:
    def skip(row: arrow_csv.InvalidRow) -> str:
        on_invalid(row)
        return "skip"

    try:
        return arrow_csv.open_csv(
            path,
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            convert_options=arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict(types),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"{path} cannot be read as CSV: {error}") from None


def _column_types(path: str | Path, schema: Mapping[str, ColumnType]) -> dict[str, pa.DataType]:
    """Each column's type: the schema's, else what Arrow reads the first block as."""
    found = _open(path, {}, lambda _: None).schema
    unknown = [name for name in schema if name not in found.names]
    if unknown:
        raise InvalidInput(f"{path} has no column {unknown[0]!r}, which the schema names; it has {found.names}")
    types: dict[str, pa.DataType] = {}
    for field in found:
        kind = field.type
        if field.name in schema:
            types[field.name] = _ARROW[schema[field.name]]
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            types[field.name] = pa.float64() if pa.types.is_floating(kind) else pa.int64()
        elif pa.types.is_boolean(kind):
            types[field.name] = kind
        elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            types[field.name] = _INSTANT
        else:
            types[field.name] = pa.string()
    return types


def _convert(
    block: pa.RecordBatch, types: Mapping[str, pa.DataType], rows: NDArray[np.int64]
) -> tuple[pa.Table, dict[str, NDArray[np.bool_]], list[Reject]]:
    """Give the columns their types; what does not fit becomes a misfit and a reject."""
    columns: list[pa.Array] = []
    misfits: dict[str, NDArray[np.bool_]] = {}
    problems: list[Reject] = []
    for name, raw in zip(block.schema.names, block.columns, strict=True):
        try:
            columns.append(_cast(raw.cast(pa.string()), types[name]))
        except pa.ArrowInvalid:
            values = [_cast_one(raw[i], types[name]) for i in range(len(raw))]
            columns.append(pa.array([v for v, _ in values], types[name]))
            misfits[name] = np.array([reason is not None for _, reason in values])
            problems += [Reject(int(rows[i]), None, name, r) for i, (_, r) in enumerate(values) if r is not None]
    return pa.table(columns, names=block.schema.names), misfits, problems


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if kind == pa.string():
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    if kind == _INSTANT:
        return _instants(trimmed)
    if kind == pa.int64():
        return pc.cast(trimmed, pa.float64() if _has_large(trimmed) else kind)
    return pc.cast(trimmed, kind)


def _has_large(texts: pa.Array) -> bool:
    """Whether a column of integers goes on with fractions (Arrow would refuse the cast)."""
    return bool(pc.any(pc.match_substring_regex(texts, "[.eE]")).as_py())


def _instants(texts: pa.Array) -> pa.Array:
    """Timestamps with or without a zone; none means UTC."""
    zoned = pc.match_substring_regex(texts, r"(Z|[+-]\d\d:?\d\d)$")
    plain = pc.cast(pc.if_else(zoned, None, texts), pa.timestamp("us"))
    return pc.coalesce(pc.cast(pc.if_else(zoned, texts, None), _INSTANT), pc.cast(plain, _INSTANT))


def _cast_one(raw: Any, kind: pa.DataType) -> tuple[Any, str | None]:
    """One value and, if it has no place in its column, why."""
    data = raw.as_py()
    if data is None:
        return None, None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None, "not valid UTF-8"
    try:
        return _cast(pa.array([text]), kind)[0].as_py(), None
    except pa.ArrowInvalid:
        shown = text if len(text) <= 40 else text[:37] + "..."
        return None, f"{shown!r} is no {_word(kind)}, which this column's values are"


def _word(kind: pa.DataType) -> str:
    if kind == _INSTANT:
        return "date or time"
    return "boolean" if kind == pa.bool_() else "number"
