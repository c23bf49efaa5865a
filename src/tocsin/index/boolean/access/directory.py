"""How does an index come by its directory of fields? It is made from the lists, and not saved."""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import frozen_table, on_cache_line
from tocsin.index.boolean.access.kernels.directory import WIDTH, Directory
from tocsin.index.boolean.access.kernels.directory_writing import measure_rows, write_tables
from tocsin.index.boolean.access.kernels.layouts import Lists
from tocsin.index.boolean.access.kernels.lists import SHORT
from tocsin.index.fields.kernels.layouts import NULL


def make_directory(lists: Lists) -> Directory:
    """Rows and tables. Cost: linear in fields, operands and equalities; 64 bytes a field, 2 to 4 an operand."""
    fields = len(lists.fields.kinds)
    rows = on_cache_line(WIDTH * fields, np.int64)
    words, steps = measure_rows(lists, SHORT, rows)
    nulls = np.flatnonzero(lists.fields.kinds == NULL)
    owners = np.searchsorted(lists.fields.starts, nulls, side="right") - 1
    of_nulls = np.stack([nulls, owners], axis=1).ravel().astype(np.int32)
    directory = Directory(rows, np.zeros(2 * words, np.uint64), of_nulls, np.empty(steps, np.uint16))
    write_tables(lists, rows, directory.words, directory.steps)
    return frozen_table(directory)
