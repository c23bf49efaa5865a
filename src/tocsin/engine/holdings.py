"""All subscriptions of an engine, as a table or as JSON lines that any engine can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.index.alive import living
from tocsin.language.stored import stored_payload, stored_weights
from tocsin.segment import Snapshots
from tocsin.segment.segment import records_table
from tocsin.writing import aside, raising_invalid_input

_AT_ONCE: Final = 8192


def held_table(snapshots: Snapshots) -> pa.Table:
    """`id`, `where`, `score`, `payload` and `weights` (JSON texts, null if absent) of the live subscriptions, by id.

    Cost: linear, plus a sort. Texts are copied.
    """
    tables = []
    for one in snapshots:
        table = one.records()
        if one.alive is not None:
            table = table.take(pa.array(living(one.alive, len(one))))
        tables.append(table)
    none = pa.array([], snapshots.id_type), pa.array([], pa.large_string()), np.empty(0)
    return pa.concat_tables([records_table(*none), *tables]).sort_by("id").combine_chunks()


def records_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows as records that an engine takes, with payload and weights as objects where there are any."""
    for batch in table.to_batches(_AT_ONCE):
        for row in batch.to_pylist():
            record = {name: row[name] for name in ("id", "where", "score")}
            yield record | optional_parts(row["payload"], row["weights"])


def optional_parts(payload: str | None, weights: str | None) -> dict[str, Any]:
    """The fields `payload` and `weights` of a record, from their stored texts. Absent ones are left out."""
    parts: dict[str, Any] = {"payload": stored_payload(payload)} if payload else {}
    return parts | ({"weights": stored_weights(weights)} if weights else {})


def export(table: pa.Table, path: str | Path) -> None:
    """Write records as JSON lines, atomically; raises `InvalidInput` if the file cannot be written."""
    with raising_invalid_input(path), aside(path) as beside, beside.open("w", encoding="utf-8") as stream:
        for record in records_of(table):
            stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
