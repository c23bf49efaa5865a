"""The order of messages in a micro-batch: by the given columns, then by all columns.

So a repeated micro-batch numbers its rows in the same way, in whatever order they arrive. Only rows that are equal in
everything may change places. Spark does not sort streams, so the task that numbers messages sorts them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def in_order(table: pa.Table, by: Sequence[str], first: str = "") -> pa.Table:
    """The rows sorted by columns of numbers, strings or times, nulls last.

    Of equal rows those with a value in the column `first` come first. Other ties are broken by their text forms.
    """
    columns = [_one_zero(table[name]) for name in by]
    if first in table.column_names:
        columns.append(pc.is_null(table[first]).cast(pa.int8()))
    keys = pa.table(columns, names=[str(number) for number in range(len(columns))])
    order = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    places = order.to_numpy().copy()
    for begin, end in _ties(keys.take(order)):
        rows = table.take(places[begin:end]).to_pylist()
        texts = [repr(list(row.values())) for row in rows]
        places[begin:end] = places[begin:end][sorted(range(len(rows)), key=texts.__getitem__)]
    return table.take(pa.array(places))


def _one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turns -0.0 into 0.0, so that the two sort alike."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _ties(keys: pa.Table) -> list[tuple[int, int]]:
    """The beginnings and ends of runs of equal rows."""
    is_new = np.zeros(keys.num_rows, bool)
    is_new[:1] = True
    for column in keys.columns:
        codes: NDArray[np.int32] = pc.dictionary_encode(
            column.combine_chunks(), null_encoding="encode"
        ).indices.to_numpy()
        is_new[1:] |= codes[1:] != codes[:-1]
    begins = np.append(np.flatnonzero(is_new), keys.num_rows)
    return [(int(begins[i]), int(begins[i + 1])) for i in np.flatnonzero(np.diff(begins) > 1)]
