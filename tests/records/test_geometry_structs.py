"""Objects of well-known binary, as Debezium and Spark write places, are places in every form."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pytest

import tocsin

POINT = bytes.fromhex("0101000000000000000000F03F000000000000F03F")
LINE = bytes.fromhex("0102000000020000000000000000000000000000000000000000000000000008400000000000000840")
TEXT = base64.b64encode(POINT).decode()
ASKED = ["S_INTERSECTS(g, BBOX(0, 0, 2, 2))", "g IS NULL", "g.srid = 4326", "S_INTERSECTS(s.g, BBOX(0, 0, 2, 2))"]


def matched(source: Any, **options: Any) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    answer = tocsin.match([{"id": where, "where": where} for where in ASKED], source, **options)
    found = [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]
    return sorted(found), [(reject.row, reject.field) for reject in answer.errors]


@pytest.mark.parametrize("schema", [None, {"g": "geometry"}])
def test_a_struct_is_a_place_in_every_form(schema: Any) -> None:
    """Bytes, or base64 in JSON; its fields are attributes as well. One that says no geometry is told."""
    structs = [{"wkb": POINT, "srid": 4326}, {"wkb": LINE, "srid": None}, None, {"wkb": b"x", "srid": 1}]
    events = [{"g": struct, "s": {"g": struct}} for struct in structs]
    encode = json.JSONEncoder(default=lambda data: base64.b64encode(data).decode()).encode
    lines = "\n".join(map(encode, events))
    by_struct = sorted([(0, ASKED[0]), (0, ASKED[2]), (0, ASKED[3]), (1, ASKED[0]), (1, ASKED[3]), (2, ASKED[1])])

    for source in (
        events,
        lines.encode(),
        pa.Table.from_pylist(events),
        pa.Table.from_pylist(list(map(json.loads, lines.splitlines()))),
    ):
        found, told = matched(source, schema=schema)
        assert found == by_struct
        assert (3, "g") in told and {row for row, _ in told} == {3}


def test_other_objects_stay_objects() -> None:
    """One field more, and nothing is read as a place."""
    assert matched([{"g": {"wkb": TEXT, "srid": 4326, "more": 1}}]) == ([(0, ASKED[2])], [])
