"""Encoding of Arrow columns that are mostly null, as those of wide tables: only the values that are given.

Many such columns of one type are encoded as one, since each of Arrow's and NumPy's calls costs as much as some hundred
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.scalars import ScalarColumn, encode_scalars, has_scalars, is_given
from tocsin.columns.events.store import Dictionary

_FEWEST: Final = 8
"""Fewer columns of one type are encoded one by one."""

_AT_ONCE: Final = 1 << 20
"""Values and nulls in columns that are encoded as one: they are copied, so they should fit the cache."""

_MOST_BYTES: Final = 1 << 30
"""Columns of more bytes are encoded one by one: those of strings are joined only up to 2 GiB."""


class Entries(NamedTuple):
    """An attribute's values: their rows (ascending), types and payloads."""

    rows: NDArray[np.int64]
    types: NDArray[np.uint8]
    payloads: NDArray[np.int64]


Encoded = tuple[Entries, Sequence[tuple[int, str]]]
"""A column's values, and its problems: row and reason."""


def without_nulls(column: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """The rows of a column's values, and the values; of a column that is mostly null, only those that are given."""
    if not _is_sparse(column):
        return np.arange(len(column)), column
    rows = np.flatnonzero(is_given(column))
    if pa.types.is_float64(column.type):
        numbers = np.frombuffer(column.buffers()[1], np.float64)[column.offset :][: len(column)]
        return rows, pa.array(numbers[rows])  # in a third of Arrow's time; wide tables are mostly of numbers
    try:
        return rows, column.drop_null()
    except pa.ArrowNotImplementedError:  # as for views of strings
        return np.arange(len(column)), column


def entries_of(rows: NDArray[np.int64], column: ScalarColumn) -> Encoded:
    """The present values among those of the given rows."""
    present, problems = column.present, [(int(rows[place]), reason) for place, reason in column.problems]
    if present.all():
        return Entries(rows, column.types, column.payloads), problems
    return Entries(rows[present], column.types[present], column.payloads[present]), problems


def encode_together(columns: Sequence[pa.Array], dictionary: Dictionary) -> dict[int, Encoded]:
    """Encode those columns that are worth it, by their numbers. All columns have the same length."""
    alike: dict[pa.DataType, list[int]] = {}
    for number, column in enumerate(columns):
        if _is_sparse(column) and _can_be_joined(column.type):
            alike.setdefault(column.type, []).append(number)
    found: dict[int, Encoded] = {}
    for numbers in alike.values():
        size = _AT_ONCE // len(columns[numbers[0]])
        for first in range(0, len(numbers), max(size, 1)):
            lot = numbers[first : first + size]
            own = [columns[number] for number in lot]
            if len(lot) >= _FEWEST and sum(column.nbytes for column in own) <= _MOST_BYTES:
                found.update(zip(lot, _encoded(own, dictionary), strict=True))
    return found


def _is_sparse(column: pa.Array) -> bool:
    return bool(2 * column.null_count > len(column))


def _can_be_joined(kind: pa.DataType) -> bool:
    return has_scalars(kind) and not pa.types.is_dictionary(kind) and not pa.types.is_string_view(kind)


def _encoded(columns: list[pa.Array], dictionary: Dictionary) -> Iterator[Encoded]:
    """The values of each column. The place of a value is its row in the column after which it was joined."""
    length = len(columns[0])
    places, given = without_nulls(pa.concat_arrays(columns))
    (places, types, payloads), problems = entries_of(places, encode_scalars(given, dictionary))
    rows, bounds = places % length, np.searchsorted(places, np.arange(len(columns) + 1) * length).tolist()
    reasons: dict[int, list[tuple[int, str]]] = {}
    for place, reason in problems:
        reasons.setdefault(place // length, []).append((place % length, reason))
    for number, (start, stop) in enumerate(pairwise(bounds)):
        yield Entries(rows[start:stop], types[start:stop], payloads[start:stop]), reasons.get(number, ())
