"""Bytes that a schema calls a string are texts inside objects and lists as well, and so are nanoseconds instants."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tocsin

ASKED = ["s.x = 'ab'", "ANY(o, x = 'ab')", "s.d.y = 'ab'", "k = 'ab'", "s IS NULL"]
SCHEMA: dict[str, Any] = dict.fromkeys(("s.x", "o.x", "s.d.y", "k"), "string")
EVENTS: list[dict[str, Any]] = [
    {"s": {"x": b"ab", "d": {"y": None}}, "o": [{"x": b"c"}, {"x": None}], "k": b"ab"},
    {"s": None, "o": [], "k": b"c"},
    {"s": {"x": None, "d": {"y": b"ab"}}, "o": [{"x": b"c"}, {"x": b"ab"}], "k": None},
]
EXPECTED = [(0, ASKED[0]), (0, ASKED[3]), (1, ASKED[4]), (2, ASKED[1]), (2, ASKED[2])]


def matched(source: Any, schema: dict[str, Any] = SCHEMA) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    answer = tocsin.match([{"id": where, "where": where} for where in ASKED], source, schema=schema)
    found = sorted(((row["event"], row["subscription"]) for row in answer), key=lambda f: (f[0], ASKED.index(f[1])))
    return found, [(reject.row, reject.field) for reject in answer.errors]


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_bytes_inside_are_texts(is_dictionary: bool) -> None:
    """In dicts, and in tables with slices around them and several chunks."""
    table = pa.Table.from_pylist([EVENTS[1], *EVENTS])
    if is_dictionary:
        place = table.schema.get_field_index("k")
        table = table.set_column(place, "k", table.column("k").dictionary_encode())
    expected = sorted(EXPECTED, key=lambda found: (found[0], ASKED.index(found[1])))
    assert matched(EVENTS) == (expected, [])
    assert matched(table.slice(1)) == (expected, [])
    assert matched(pa.concat_tables([table.slice(1, 1), table.slice(2)])) == (expected, [])


def test_bytes_inside_that_are_not_texts_are_an_error_of_their_row() -> None:
    events = [{"s": {"x": b"\xff"}}, {"s": {"x": b"ab"}}]
    for source in (events, pa.Table.from_pylist(events)):
        found, errors = matched(source)
        assert found == [(1, ASKED[0])] and errors == [(0, "s.x")]


def test_nanoseconds_inside_are_instants() -> None:
    events = [{"s": {"t": 1714564800123456000}}, {"s": {"t": None}}]
    for source in (events, pa.Table.from_pylist(events)):
        asked = {"id": 1, "where": "s.t = TIMESTAMP('2024-05-01T12:00:00.123456Z')"}
        answer = tocsin.match(asked, source, schema={"s.t": "instant(ns)"})
        assert [row["event"] for row in answer] == [0] and not answer.errors
