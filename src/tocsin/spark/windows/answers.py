"""The columns of the answer of a window on a cluster."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.spark.windows.settings import Settings

REFUSED: Final = "refused"


def answer_schema(settings: Settings) -> pa.Schema:
    """The columns of the answer, in Arrow's types."""
    kind, message = pa.type_for_alias(settings.id_type), pa.type_for_alias(settings.message_type)
    first = [("event", pa.int64()), ("subscription", kind)]
    if settings.lists:
        best = pa.list_(pa.struct([("message", message), ("score", pa.float64())]))
        return pa.schema([*first, ("best", best), ("error", pa.string())])
    rest = [("message", message), ("kind", pa.string()), ("score", pa.float64()), ("error", pa.string())]
    return pa.schema([*first, *rest])


def answer_of(settings: Settings, rows: int, **columns: Any) -> pa.Table:
    """A table with the answer's columns; absent ones are null."""
    schema = answer_schema(settings)
    arrays = {
        name: pa.array(column) if isinstance(column, list | np.ndarray) else column for name, column in columns.items()
    }
    filled = [arrays[f.name].cast(f.type) if f.name in arrays else pa.nulls(rows, f.type) for f in schema]
    return pa.Table.from_arrays(filled, schema=schema)


def lists_of(settings: Settings, names: list[Any], lists: list[list[tuple[Any, float]]], taken: int) -> pa.Table:
    """The lists of some subscriptions, as they are after so many messages."""
    rows = [[{"message": key, "score": score} for key, score in best] for best in lists]
    best = pa.array(rows, answer_schema(settings).field("best").type)
    return answer_of(settings, len(names), event=np.full(len(names), taken - 1), subscription=names, best=best)
