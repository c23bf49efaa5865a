"""A rejected change says which field is to blame, where a reader could not parse its record."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tocsin.records.changes import CORRUPT, read_changes


@pytest.mark.parametrize(
    ("record", "field", "reason"),
    [
        ({"id": "a", "version": "2"}, "version", "version is a text; it must be an integer"),
        ({"id": "a", "version": 2.5}, "version", "version is 2.5; it must be an integer"),
        ({"id": "a", "version": True}, "version", "version is true; it must be an integer"),
        ({"id": "a", "version": 1, "score": "high"}, "score", "score is a text; it must be a number"),
        ({"id": "a", "version": 1, "weights": [1]}, "weights", "weights is [1]; it must be an object with a number"),
        ({"id": "a", "version": 1, "score": 2}, "", 'the record cannot be read: {"id": "a"'),
        ('{"id": "a", "ver', "", 'the record cannot be read: {"id": "a", "ver'),
        ("[1]", "", "the record cannot be read: [1]"),
    ],
)
def test_the_field_of_another_type_is_named(record: Any, field: str, reason: str) -> None:
    """With what came and what it must be; if no such field is found, the record is shown."""
    text = record if isinstance(record, str) else json.dumps(record)
    columns = {"id": pa.array(["a"]), "change": pa.array(["insert"]), "version": pa.nulls(1, pa.int64())}

    batch = read_changes(pa.table(columns | {CORRUPT: pa.array([text])}))

    (reject,) = batch.rejects
    assert (reject.id, reject.field) == ("a", field)
    assert reject.reason.startswith(reason)


def test_integer_ids_are_asked_for() -> None:
    """If the ids of the index are integers."""
    columns = {"id": pa.nulls(1, pa.int64()), "change": pa.nulls(1, pa.string()), "version": pa.nulls(1, pa.int64())}

    batch = read_changes(pa.table(columns | {CORRUPT: pa.array(['{"id": "a", "version": 1}'])}))

    assert [(one.field, one.reason) for one in batch.rejects] == [("id", "id is a text; it must be an integer")]
