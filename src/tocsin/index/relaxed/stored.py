"""The saved form of a relaxed index among a segment's arrays: rows, an arrangement of intervals, and a Matcher.

Tables that are quick to make are made again on load. That takes 0.2 of the 1.6 us a dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.expressions.checks import check_below, check_starts, require, require_type
from tocsin.columns.expressions.stored import restored, restored_texts, stored, stored_texts
from tocsin.index.fields.fields import check_fields
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.protocols import Arrays
from tocsin.index.relaxed.kernels import layouts
from tocsin.index.relaxed.rows import Rows
from tocsin.index.tables import named_arrays, restored_table

GENERAL = "general."


def stored_rows(rows: Rows) -> dict[str, NDArray[Any]]:
    """All arrays of the rows, by name."""
    arrays = dict(named_arrays(rows.table, "rows."))
    arrays |= dict(named_arrays(rows.fields, "fields."))
    arrays |= {"named_starts": rows.named_starts, "named": rows.named}
    arrays |= stored_texts("names", Texts.of(rows.attributes))
    return arrays | stored(rows.compiled)


def restored_rows(arrays: Arrays, subscriptions: int) -> Rows:
    """Restore the rows of that many subscriptions; raises `ValueError` or `KeyError` if they are not sound."""
    compiled = restored(arrays)
    names = restored_texts("names", arrays).to_list()
    for name, kind in (("named_starts", np.int64), ("named", np.int32)):
        require_type(name, arrays[name], np.dtype(kind), 1)
    fields = restored_table(Fields, arrays, "fields.")
    table = restored_table(layouts.Dimensions, arrays, "rows.")
    rows = Rows(table, names, arrays["named_starts"], arrays["named"], compiled, fields)
    check_fields(fields, len(compiled.attributes), len(compiled.transforms), len(compiled.vocabulary))
    require(len(compiled) == 0, "expressions were stored in addition to the rows")
    require(rows.subscriptions == subscriptions, "the rows belong to other subscriptions")
    check_starts("named attributes", rows.named_starts, len(rows.named))
    check_below("named attribute", rows.named, len(names))
    _check_table(rows)
    return rows


def _check_table(rows: Rows) -> None:
    table, count = rows.table, len(rows)
    check_starts("rows", table.starts, count)
    require(len(table.rows) == layouts.ROW * count, "the rows differ in length")
    require((np.isfinite(table.weights) & (table.weights >= 0)).all(), "a weight is below 0, or not finite")
    fields, more = rows.by_row()[:, layouts.FIELD], rows.by_row()[:, layouts.MORE]
    require(((fields < len(rows.fields.kinds)) & (fields >= -1 - rows.generals)).all(), "a row has no field")
    generals = -1 - fields[(fields < 0) & (fields >= -rows.generals)]
    require(np.array_equal(np.sort(generals), np.arange(rows.generals)), "a general dimension has no row, or several")
    several = more[more >= 0].astype(np.int64)
    require((several < len(table.ranges)).all() and (more >= -1).all(), "the ranges of a row lie outside its field")
    lengths = table.ranges[several].astype(np.int64)
    inside = (lengths >= 1) & (several + 1 + 2 * lengths <= len(table.ranges))
    require(inside.all(), "the ranges of a row lie outside its field")
