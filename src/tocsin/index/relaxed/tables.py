"""The tables that the kernels of relaxed rankings read: rows, the owners of intervals, and tiles or lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, inverse, on_cache_line
from tocsin.index.relaxed.kernels import layouts
from tocsin.index.relaxed.kernels.field_lists import FieldLists, count_ranges, fill_lists
from tocsin.index.relaxed.kernels.one_by_one import those_alone
from tocsin.index.relaxed.kernels.tiles import TILE, Columns, Tiles, count_columns, fill_columns
from tocsin.index.relaxed.rows import Rows
from tocsin.index.scored.ranker import Ranker
from tocsin.model.readings import attribute_of

ROOM: Final = 4
"""The most places a dimension that columns may have. If fields are rarer than that, lists by field are used."""


@dataclass(frozen=True, slots=True)
class RelaxedTables:
    """All tables for the kernels."""

    lists: layouts.Lists
    tiles: Tiles | None  # if most subscriptions of a tile have the same fields; else None
    field_lists: FieldLists | None
    alone: NDArray[np.int32]  # subscriptions in neither
    ranks: NDArray[np.int32]  # (F,) the position of each field in the order that weights are added

    @classmethod
    def of(cls, rows: Rows, ranker: Ranker, room: int = ROOM) -> RelaxedTables:
        """Make tiles if their columns have at most `room` places a dimension, else lists by field.

        Cost: linear, except for sorting the fields; 24 bytes a dimension, and 16 a place of a column.
        """
        names = [attribute_of(name) for name in rows.compiled.attributes]
        attributes = np.repeat(np.arange(len(names)), np.diff(rows.fields.starts)).tolist()
        order = np.array(sorted(range(len(attributes)), key=lambda field: names[attributes[field]]), np.int32)
        ranks = inverse(order).astype(np.int32)
        owners = frozen(rows.owners()[ranker.owners], np.int32)
        generals = frozen(rows.owners_of_generals(), np.int32)
        lists = layouts.Lists(ranker.starts, ranker.scores, owners, generals)
        alone = frozen(those_alone(rows.table), np.int32)
        tiles = _tiles(rows.table, ranks, order, room)
        field_lists = _field_lists(rows.table, len(order)) if tiles is None else None
        return cls(lists, tiles, field_lists, alone, frozen(ranks, np.int32))


def _tiles(
    dimensions: layouts.Dimensions, ranks: NDArray[np.int32], order: NDArray[np.int32], room: int
) -> Tiles | None:
    """The subscriptions in tiles; None if columns would be mostly empty."""
    starts = count_columns(dimensions, len(order))
    if TILE * starts[-1] > room * (len(dimensions.weights) + TILE * 16):
        return None
    columns = int(starts[-1])
    tiles = Tiles(
        starts=starts,
        fields=np.empty(columns, np.int32),
        lows=_aligned(TILE * columns, np.int32, np.iinfo(np.int32).max),
        highs=_aligned(TILE * columns, np.int32, -1),
        weights=_aligned(TILE * columns, np.float64, 0),
    )
    fill_columns(dimensions, Columns(ranks, order), tiles)
    return frozen_table(tiles)


def _aligned(count: int, kind: Any, value: float) -> NDArray[Any]:
    """An array aligned to cache lines, filled with a number."""
    found = on_cache_line(count, kind)
    found[:] = value
    return found


def _field_lists(dimensions: layouts.Dimensions, fields: int) -> FieldLists:
    """The subscriptions in lists by field."""
    starts = count_ranges(dimensions, fields)
    count = int(starts[-1])
    ends = np.empty(count, np.int32), np.empty(count, np.int32)
    lists = FieldLists(starts, *ends, np.empty(count, np.uint16), np.empty(count))
    fill_lists(dimensions, fields, lists)
    return frozen_table(lists)
