"""How JSON lines are read: a bad line costs itself, and is reported with its row, line and reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive import match as naive

ONE = [{"id": "one", "where": "n = 1"}]
GOOD = b'{"n": 1}'


def rows(answer: tocsin.Answer) -> list[int]:
    return answer.table["event"].to_pylist()


@given(expressions=st.lists(own.expressions(max_depth=4), min_size=1, max_size=4), events=st.lists(own.json_events()))
def test_json_text_means_what_its_objects_mean(expressions, events):
    """Events written as JSON lines give the oracle's answer on the same objects."""
    numbered = list(enumerate(expressions))
    asked = [{"id": number, "where": tocsin.to_text(tree)} for number, tree in numbered]
    events = [*events, {}]  # one that can be read

    answer = tocsin.match(asked, "\n".join(map(own.json_text, events)).encode())

    assert [tuple(row.values()) for row in answer.table.to_pylist()] == naive.match(numbered, events)


BAD_LINES = {
    "cut short": (b'{"n": ', "invalid JSON at column"),
    "no quotes": (b"{n: 1}", "invalid JSON at column"),
    "two objects": (b'{"n": 1} {"n": 1}', "Extra data"),
    "not UTF-8": (b'{"n": "\xff"}', "not valid UTF-8 at byte 7; convert the file, for example with iconv"),
    "NaN": (b'{"n": NaN}', "NaN is not a JSON number"),
    "Infinity": (b'{"n": [Infinity]}', "Infinity is not a JSON number"),
    "minus Infinity": (b'{"n": -Infinity}', "-Infinity is not a JSON number"),
    "an array": (b"[1]", "not an array"),
    "a number": (b"1.5", "not a number"),
    "a string": (b'"n"', "not a string"),
    "null": (b"null", "not null"),
    "a boolean": (b"true", "not a boolean"),
    "arrays without end": (b'{"n": ' + b"[" * 100_000, "nested too deep"),
    "objects without end": (b'{"n": ' * 100_000, "nested too deep"),
    "objects 100,000 deep": (b'{"n": ' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),
    "control characters": (b'{"n": "\x01"}', "invalid JSON at column"),
    "a second BOM": (b'\xef\xbb\xbf{"n": 1}', "Expecting value"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_costs_only_itself(kind: str) -> None:
    """The row counts records, the line counts lines, and the lines around it are served."""
    line, reason = BAD_LINES[kind]

    answer = tocsin.match(ONE, b"\n".join([GOOD, b"", GOOD, b"  \t", line, GOOD, b""]))

    assert rows(answer) == [0, 1, 3]
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(2, None, "")]
    assert "line 5" in answer.errors[0].reason
    assert reason in answer.errors[0].reason
    assert len(answer.errors[0].reason) < 300


BAD_VALUES = {
    "1e400": "infinity",
    "-1e400": "infinity",
    "9007199254740993": "beyond 2**53",
    "-9007199254740993": "beyond 2**53",
    "1" + "0" * 400: "beyond 2**53",
    "[1, 1e400]": "infinity",
    '"\\ud800"': "lone surrogate",
    "[[1], 9007199254740993]": "beyond 2**53",
    '{"type": "Polygon", "coordinates": []}': "the geometry is empty",
}


@pytest.mark.parametrize("text", BAD_VALUES, ids=lambda text: text[:20])
def test_a_value_that_cannot_be_represented_is_present_and_of_no_type(text: str) -> None:
    """It is reported, IS NULL is FALSE of it, all else UNKNOWN, and the rest of the event is served."""
    asked = [
        {"id": "null", "where": "v IS NULL"},
        {"id": "present", "where": "v IS NOT NULL"},
        {"id": "compared", "where": "v = 1 OR v <> 1 OR v > 1 OR NOT (v = 'a') OR A_CONTAINS(v, (1))"},
        *ONE,
    ]

    answer = tocsin.match(asked, f'{{"v": {text}, "n": 1}}'.encode())

    assert answer.table["subscription"].to_pylist() == ["one", "present"]
    assert [(r.row, r.field) for r in answer.errors] == [(0, "v")]
    assert BAD_VALUES[text] in answer.errors[0].reason


@pytest.mark.parametrize("text", ["9007199254740992", "-9007199254740992", "1e308", "-0.0", "1E2"])
def test_numbers_at_the_edge_are_numbers(text: str) -> None:
    """Integers up to 2**53 and finite floats are taken as they are."""
    answer = tocsin.match([{"id": "x", "where": f"v = {float(text)!r}"}], f'{{"v": {text}}}'.encode())

    assert rows(answer) == [0]
    assert answer.errors == []


def test_an_event_that_nests_too_deep_is_refused_as_a_whole() -> None:
    """256 objects within each other are taken, one more is a bad event with a reason."""

    def nested(depth: int) -> bytes:
        return b'{"a": ' * depth + b"1" + b"}" * depth

    answer = tocsin.match([{"id": "x", "where": "n IS NULL"}], b"\n".join([nested(257), nested(258), nested(2)]))

    assert rows(answer) == [0, 2]
    assert [r.row for r in answer.errors] == [1]
    assert "256 deep" in answer.errors[0].reason


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    """A BOM at the start of a file and CR before LF are no part of a record; the last line may lack its end."""
    path = tmp_path / "e.json"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([GOOD, b"", GOOD]))

    answer = tocsin.match(ONE, path)

    assert rows(answer) == [0, 1]
    assert answer.errors == []


def test_rows_go_on_from_chunk_to_chunk(tmp_path: Path) -> None:
    """Rows, lines and rejects are right beyond the 16,384 records of a chunk."""
    lines = [b'{"n": 0}'] * 40_000
    for at in (0, 16_383, 16_384, 32_768, 39_999):
        lines[at] = GOOD
    for at in (16_382, 16_385, 39_998):
        lines[at] = b"bad"
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\n".join(lines))

    answer = tocsin.match(ONE, path)
    listed = tocsin.match(ONE, path, lists=True)

    assert rows(answer) == [0, 16_383, 16_384, 32_768, 39_999]
    assert [r.row for r in answer.errors] == [16_382, 16_385, 39_998]
    assert [r.reason.split(":")[0] for r in answer.errors] == ["line 16383", "line 16386", "line 39999"]
    assert answer.stats.events == 40_000
    assert rows(listed) == list(range(40_000))
    assert [i for i, found in enumerate(listed.table["subscription"].to_pylist()) if found is None] == [
        16_382,
        16_385,
        39_998,
    ]


def test_only_what_is_asked_for_is_reported() -> None:
    """An odd value of an attribute that no subscription names costs nothing and is not reported."""
    answer = tocsin.match(ONE, b'{"n": 1, "other": 1e400, "deep": {"other": 1e400}}')

    assert rows(answer) == [0]
    assert answer.errors == []


def test_subscriptions_in_json_lines_may_hold_cql2_json_and_payloads() -> None:
    """`where` is text, JSON in a string, or a JSON object."""
    tree = {"op": "=", "args": [{"property": "n"}, 1]}
    records = [
        {"id": "text", "where": "n = 1", "payload": {"any": ["thing"]}},
        {"id": "object", "where": tree, "weights": {"n": 2.5}},
        {"id": "string", "where": json.dumps(tree), "score": 2},
        {"id": "always", "where": True},
    ]

    answer = tocsin.match("\n".join(map(json.dumps, records)).encode(), [{"n": 1}, {"n": 2}])

    assert [tuple(r.values()) for r in answer.table.to_pylist()] == [
        (0, "always"),
        (0, "object"),
        (0, "string"),
        (0, "text"),
        (1, "always"),
    ]
