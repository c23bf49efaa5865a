"""Two bulk forms of records. They are named explicitly, because a table does not show that it has one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.errors import InvalidInput, RecordError
from tocsin.model.expression import COMPARISONS, Attribute, Comparison, Constant, Expression, conjunction
from tocsin.model.values import LARGEST_INTEGER, class_of
from tocsin.records.chunks import CHUNK_ROWS, SparseChunk

_OPERATORS: Final = ", ".join(COMPARISONS)


@dataclass(frozen=True, slots=True)
class SparseEvents:
    """Events with many possible attributes, one event a row, as a source of events.

    Row `i` has the attribute `names[i][j]` with the value `values[i][j]`.

    Attributes
    ----------
    table : pyarrow.Table
        A table, or an object that exports one, with the columns `names` (lists of strings) and `values` (lists of
        doubles).

    Raises
    ------
    InvalidInput
        If the table lacks a column, or has it in another type.

    Examples
    --------
    >>> import pyarrow as pa, tocsin
    >>> events = SparseEvents(pa.table({"names": [["price", "size"]], "values": [[5.0, 40.0]]}))
    >>> tocsin.match({"id": "s", "where": "price < 9"}, events).table.to_pylist()
    [{'event': 0, 'subscription': 's'}]
    """

    table: pa.Table

    def __post_init__(self) -> None:
        table = _as_table(self.table, "SparseEvents")
        _require_lists(table, "names", is_text, "strings")
        _require_lists(table, "values", pa.types.is_floating, "doubles")
        object.__setattr__(self, "table", table)

    def chunks(self) -> Iterator[SparseChunk]:
        """The rows in chunks.

        Returns
        -------
        iterator of SparseChunk
            The rows, in order.
        """
        total = self.table.num_rows
        for first in range(0, total, CHUNK_ROWS):
            part = self.table.slice(first, CHUNK_ROWS).combine_chunks()
            rows = np.arange(first, first + part.num_rows)
            yield SparseChunk(
                one_array(part["names"]), one_array(part["values"]), rows, (first + part.num_rows) / total
            )


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Subscriptions that are ANDs of comparisons with numbers, one a row, as a source of subscriptions.

    Attributes
    ----------
    table : pyarrow.Table
        A table, or an object that exports one. Its columns are `id`, `predicates` and optionally `score`. `predicates`
        are lists of structs of `attribute`, `op` (one of `= <> < <= > >=`) and `value`.

    Raises
    ------
    InvalidInput
        If the table lacks these columns.

    Examples
    --------
    >>> import pyarrow as pa, tocsin
    >>> table = pa.table({"id": ["s"], "predicates": [[{"attribute": "price", "op": "<", "value": 9.0}]]})
    >>> tocsin.match(Conjunctions(table), {"price": 5}).table.to_pylist()
    [{'event': 0, 'subscription': 's'}]
    """

    table: pa.Table

    def __post_init__(self) -> None:
        table = _as_table(self.table, "Conjunctions")
        for name in ("id", "predicates"):
            if name not in table.column_names:
                raise InvalidInput(f"Conjunctions need a column {name!r}; the columns are {table.column_names}")
        kind = table.schema.field("predicates").type
        fields = (
            {field.name for field in kind.value_type}
            if _is_list(kind) and pa.types.is_struct(kind.value_type)
            else set()
        )
        if not {"attribute", "op", "value"} <= fields:
            raise InvalidInput(f"predicates is {kind}; it must be a list of structs with attribute, op and value")
        object.__setattr__(self, "table", table)


def conjunction_of(predicates: object) -> Expression:
    """The AND of predicates `{"attribute", "op", "value"}`; raises `RecordError`."""
    if not isinstance(predicates, list | tuple) or not predicates:
        raise RecordError("predicates is a list of at least one {attribute, op, value}", "predicates")
    return conjunction([_comparison(predicate) for predicate in predicates])


def _comparison(predicate: object) -> Expression:
    if not isinstance(predicate, dict) or predicate.keys() != {"attribute", "op", "value"}:
        raise RecordError(f"a predicate has attribute, op and value; this is {predicate!r:.60}", "predicates")
    name, op, value = predicate["attribute"], predicate["op"], predicate["value"]
    if not isinstance(name, str) or not name:
        raise RecordError(f"a predicate's attribute is a name, not {name!r:.40}", "predicates")
    if op not in COMPARISONS:
        raise RecordError(f"op is {op!r:.20}; it must be one of {_OPERATORS}", "predicates")
    if isinstance(value, bool) or not isinstance(value, int | float) or not _representable(value):
        raise RecordError(
            f"the value compared with {name!r} is {value!r:.40}; it must be a finite number", "predicates"
        )
    return Comparison(op, Attribute(name), Constant(float(value)))


def _representable(value: float) -> bool:
    return abs(value) <= LARGEST_INTEGER if isinstance(value, int) else bool(np.isfinite(value))


def _as_table(given: Any, what: str) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    raise InvalidInput(f"{what} takes an Arrow table (or what exports one), not {class_of(given)}")


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds strings, plain or dictionary-encoded."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _require_lists(table: pa.Table, name: str, accepts: Any, what: str) -> None:
    if name not in table.column_names:
        raise InvalidInput(f"SparseEvents need a column {name!r}; the columns are {table.column_names}")
    kind = table.schema.field(name).type
    if not _is_list(kind) or not accepts(kind.value_type):
        raise InvalidInput(f"the column {name!r} is {kind}; it must be a list of {what}")
