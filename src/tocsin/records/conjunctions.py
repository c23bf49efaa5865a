"""Columnar reading of `Conjunctions`. Only rejected rows are examined one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.errors import RecordError
from tocsin.language.canonical import name_text
from tocsin.model.expression import COMPARISONS
from tocsin.model.subscription import Reject, checked_id, checked_score
from tocsin.model.values import LARGEST_INTEGER
from tocsin.records.bulk import Conjunctions, conjunction_of, is_text, one_array
from tocsin.records.subscription_chunk import ConjunctionColumns, SubscriptionChunk

_CHUNK_ROWS: Final = 1 << 17
_TEXT: Final = pa.large_string()


def read_conjunctions(given: Conjunctions) -> Iterator[SubscriptionChunk]:
    """Read the rows in chunks; the columns must be plain (`is_plain`)."""
    total = given.table.num_rows
    for first in range(0, total, _CHUNK_ROWS):
        part = given.table.slice(first, _CHUNK_ROWS).combine_chunks()
        yield _chunk(part, np.arange(first, first + part.num_rows), (first + part.num_rows) / total)


def is_plain(given: Conjunctions) -> bool:
    """Whether the columns have the types that can be read in bulk; others are read record by record."""
    schema = given.table.schema
    name, item = schema.field("id").type, schema.field("predicates").type.value_type
    score = schema.field("score").type if "score" in schema.names else pa.float64()
    return (
        set(schema.names) <= {"id", "predicates", "score"}
        and {field.name for field in item} == {"attribute", "op", "value"}
        and (pa.types.is_integer(name) or is_text(name))
        and _is_number(item.field("value").type)
        and _is_number(score)
        and is_text(item.field("attribute").type)
        and is_text(item.field("op").type)
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _chunk(table: pa.Table, rows: NDArray[np.int64], done: float) -> SubscriptionChunk:
    lists = one_array(table["predicates"])
    scores = _scores(table)
    ids = one_array(table["id"])
    good = _good_rows(lists, ids, scores)
    rejects = [_refusal(table, place, int(rows[place])) for place in np.flatnonzero(~good).tolist()]
    keep = pa.array(good)
    columns, sources = _columns(lists.filter(keep))
    ids = ids.filter(keep).cast(pa.int64() if pa.types.is_integer(ids.type) else _TEXT)
    return SubscriptionChunk(rows[good], ids, columns, sources, scores[good], None, rejects, done)


def _scores(table: pa.Table) -> NDArray[np.float64]:
    """The scores, 1.0 if null. Scores that are not finite are kept, so that their rows are examined one by one."""
    if "score" not in table.column_names:
        return np.ones(table.num_rows)
    column = one_array(table["score"])
    scores: NDArray[np.float64] = pc.fill_null(column.cast(pa.float64(), safe=False), 1.0).to_numpy()
    return scores


def _good_rows(lists: pa.Array, ids: pa.Array, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The rows without missing, unknown or out-of-range values."""
    items = lists.flatten()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    owners = np.repeat(np.arange(len(lists)), lengths)
    values = items.field("value")
    numbers = pc.fill_null(values.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    sound = np.isfinite(numbers)
    if pa.types.is_integer(values.type):
        sound &= np.abs(numbers) <= LARGEST_INTEGER
    sound &= _mask(pc.is_valid(items))
    names = items.field("attribute")
    sound &= _mask(pc.fill_null(pc.not_equal(_plain(names), ""), False))
    sound &= _mask(pc.is_in(_plain(items.field("op")), value_set=pa.array(COMPARISONS, _TEXT)))
    good: NDArray[np.bool_] = (lengths > 0) & _mask(pc.is_valid(ids)) & np.isfinite(scores)
    good[owners[~sound]] = False
    if pa.types.is_unsigned_integer(ids.type):
        good &= _mask(pc.fill_null(pc.less_equal(ids, pa.scalar(2**63 - 1, ids.type)), False))
    return good


def _mask(booleans: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = booleans.to_numpy(zero_copy_only=False).astype(bool)
    return mask


def _plain(texts: pa.Array) -> pa.Array:
    return texts.cast(_TEXT)


def _refusal(table: pa.Table, place: int, row: int) -> Reject:
    """Explain why a row is rejected, with the same words as for that record as an object."""
    record: dict[str, Any] = table.slice(place, 1).to_pylist()[0]
    name = record["id"]
    try:
        checked_id(name)
        conjunction_of(record["predicates"])
        checked_score(record.get("score"))
    except RecordError as error:
        return Reject(row, name, error.field, error.reason)
    raise AssertionError(f"row {row} was rejected in bulk, but is valid by itself")


def _columns(lists: pa.Array) -> tuple[ConjunctionColumns, pa.Array]:
    """Valid rows as columns, and as CQL2 texts."""
    items = lists.flatten()
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    names = _encoded(items.field("attribute"))
    operators = _encoded(items.field("op"))
    numbers = pc.add(items.field("value").cast(pa.float64()), 0.0)  # adding 0.0 turns -0.0 into 0.0
    of_names = names.dictionary.to_pylist()
    known = [COMPARISONS.index(op) if op in COMPARISONS else 0 for op in operators.dictionary.to_pylist()]
    columns = ConjunctionColumns(
        of_names,
        starts,
        names.indices.to_numpy(zero_copy_only=False).astype(np.int32),
        np.array(known, np.uint8)[operators.indices.to_numpy(zero_copy_only=False)],
        numbers.to_numpy(zero_copy_only=False),
    )
    spelled = pa.array([name_text(name) for name in of_names], _TEXT).take(names.indices)
    texts = pc.binary_join_element_wise(spelled, _plain(items.field("op")), _plain(numbers), pa.scalar(" ", _TEXT))
    joined = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(starts), texts), pa.scalar(" AND ", _TEXT))
    return columns, joined


def _encoded(texts: pa.Array) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(texts.type):
        return texts.cast(_TEXT).dictionary_encode()
    distinct = texts.dictionary.cast(_TEXT).dictionary_encode()  # a dictionary may hold a text twice
    return pa.DictionaryArray.from_arrays(distinct.indices.take(texts.indices), distinct.dictionary)
