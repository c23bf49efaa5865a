"""The data of an access index, and its form as named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, on_cache_line
from tocsin.columns.expressions.checks import require, require_type
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.stored import restored, stored
from tocsin.index.boolean.access.kernels.directory import WIDTH, Directory
from tocsin.index.boolean.access.kernels.directory_writing import measure_rows, write_tables
from tocsin.index.boolean.access.kernels.layouts import (
    NARROW_HIGHEST,
    WIDE,
    Compounds,
    Conjunctions,
    Lists,
    Postings,
    Runs,
)
from tocsin.index.boolean.access.kernels.lists import SHORT
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, NULL
from tocsin.index.tables import named_arrays, restored_table


@dataclass(frozen=True, slots=True)
class AccessLayout:
    """The lists, and the expressions that need more than ranges.

    `programs_of` has the names, strings and transforms of all subscriptions, but only the programs and leaves of those
    that are not conjunctions of ranges.
    """

    subscriptions: int
    lists: Lists
    programs_of: CompiledExpressions

    @property
    def has_programs(self) -> bool:
        """Whether any expression is more than a conjunction of ranges."""
        return len(self.lists.programs.owners) > 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        arrays = {"subscriptions": np.array([self.subscriptions], np.int64)}
        return arrays | dict(named_arrays(self.lists)) | stored(self.programs_of)

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> AccessLayout:
        """Restore from arrays; raises `ValueError` or `KeyError` for wrong types. `checks` checks the numbers."""
        require_type("subscriptions", arrays["subscriptions"], np.int64, 1)
        require(len(arrays["subscriptions"]) == 1, "the number of subscriptions is missing")
        lists = restored_table(Lists, arrays, missing={Compounds: no_compounds})
        return cls(int(arrays["subscriptions"][0]), lists, restored(arrays))


def predicate_rows(conjunctions: Conjunctions) -> NDArray[np.int32]:
    """(P, WIDE) the predicates of conjunctions, whichever way they are stored."""
    stride = int(conjunctions.stride[0])
    rows = conjunctions.predicates.reshape(-1, stride)
    if stride == WIDE:
        return rows
    ends = rows[:, 1].view(np.uint32)
    highs = (ends >> 16).astype(np.int32)
    highs[highs == NARROW_HIGHEST] = HIGHEST_CODE
    return np.stack([rows[:, 0], (ends & 0xFFFF).astype(np.int32), highs], axis=1)


def no_compounds() -> Compounds:
    """Empty schemas: for an index that needs none, or was saved before they existed."""
    none, start = frozen(np.empty(0), np.int32), frozen(np.zeros(1), np.int64)
    runs = Runs(start, frozen(start, np.int32), frozen(none, np.int64), none)
    return Compounds(
        *(start, none, none, start, frozen(none, np.int64)),
        *(runs, Postings(none, none, none), frozen(start, np.int32), none, frozen(np.empty((0, 4)), np.float64)),
    )


def make_directory(lists: Lists) -> Directory:
    """The directory. Cost: linear in fields, operands and equalities; 64 bytes a field, 2 to 4 an operand."""
    fields = len(lists.fields.kinds)
    rows = on_cache_line(WIDTH * fields, np.int64)
    words, steps = measure_rows(lists, SHORT, rows)
    nulls = np.flatnonzero(lists.fields.kinds == NULL)
    owners = np.searchsorted(lists.fields.starts, nulls, side="right") - 1
    of_nulls = np.stack([nulls, owners], axis=1).ravel().astype(np.int32)
    directory = Directory(rows, np.zeros(2 * words, np.uint64), of_nulls, np.empty(steps, np.uint16))
    write_tables(lists, rows, directory.words, directory.steps)
    return frozen_table(directory)
