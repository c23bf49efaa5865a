"""The kernel that reads JSON lines takes what the standard parser takes, and reads it as it does."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import strategies as own
from tests.columns.events.decoding import decoded
from tocsin.columns.events.json_lines import encode_lines
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.errors import RecordError
from tocsin.records.json_lines import parse_line

NAMES = (*own.NAMES, "a", "b", "c.d", "tags", "")
WANTED = Wanted(name for name in NAMES if name)


def read(lines: list[bytes]) -> tuple[dict[int, object], set[int]]:
    """What the kernel makes of lines: the values of those it takes, and the lines that it leaves."""
    text = b"\n".join(lines)
    stops = np.cumsum([len(line) + 1 for line in lines]) - 1
    starts = stops - [len(line) for line in lines]
    batch, left = encode_lines(text, starts, stops, np.arange(len(lines)), WANTED)
    return dict(zip(batch.rows.tolist(), decoded(batch), strict=True)), set(left.tolist())


def expected(line: bytes) -> object:
    """What the standard parser makes of a line; None where it refuses it."""
    try:
        record = parse_line(line, 1)
    except RecordError:
        return None
    found = decoded(encode_objects([(0, record)], WANTED))
    return found[0] if found else None


def agrees(lines: list[bytes]) -> set[int]:
    """Assert that the lines that the kernel takes read as they should; returns those that it leaves."""
    found, left = read(lines)

    assert set(found) | left == set(range(len(lines)))
    assert not set(found) & left
    for line, values in found.items():
        assert values == expected(lines[line]), lines[line]
    return left


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["", "x", "é", "😀", "gold", "\x7f"]),
    st.integers(-(2**53), 2**53),
    st.integers(-100, 100),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) < 1e290),
    st.decimals(-10_000, 10_000, places=3).map(float),
)
NAME = st.sampled_from(NAMES)
UNWANTED = st.recursive(PLAIN, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from("xyz"), inner)))
EVENT = st.one_of(
    st.dictionaries(NAME, st.one_of(PLAIN, st.lists(PLAIN, max_size=4))),
    st.dictionaries(st.sampled_from(["tags", "z", "y"]), UNWANTED),
)
LAYOUT = st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", "\t: ")])


def dumped(event: object, layout: tuple[str, str], ascii_only: bool) -> bytes:
    return json.dumps(event, separators=layout, ensure_ascii=ascii_only).encode()


@given(st.lists(st.builds(dumped, EVENT, LAYOUT, st.booleans()), min_size=1, max_size=6))
def test_reads_plain_events_like_the_standard_parser(lines):
    """Numbers to the last bit, strings, booleans, lists as sets and boxes."""
    agrees(lines)


@given(st.lists(st.builds(dumped, own.json_events(), LAYOUT, st.booleans()), min_size=1, max_size=6))
def test_reads_any_event_like_the_standard_parser(lines):
    """Nested objects, geometries, unrepresentable values: read alike, or left to the other way."""
    agrees(lines)


@given(EVENT, st.data())
def test_takes_nothing_that_the_standard_parser_refuses(event, data):
    """A changed, lost or added byte anywhere: refused by both, or read alike."""
    line = bytearray(dumped(event, (", ", ": "), ascii_only=False))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(line) - 1))
        byte = data.draw(st.sampled_from(b'{}[]",:0123456789.eE+-tfnul \\\t\x01\x0b\xc3\xa9\xff'))
        change = data.draw(st.sampled_from(["replace", "insert", "delete"]))
        if change == "replace":
            line[at] = byte
        elif change == "insert":
            line.insert(at, byte)
        elif len(line) > 1:
            del line[at]

    agrees([bytes(line).replace(b"\n", b" ")])


TOKENS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    '"z"',
    '"',
    "1",
    "-",
    "0",
    "01",
    "1.5",
    "1.",
    ".5",
    "1e5",
    "1e",
    "-0",
]
TOKENS += [
    "true",
    "false",
    "null",
    "nul",
    "NaN",
    "Infinity",
    " ",
    "\t",
    "\x0b",
    "1e400",
    "1e-400",
    "9007199254740993",
    "é",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=12))
@example(['{"a":', "1", ",", '"a"', ":", "2", "}"])
@example(['{"z":', "[", "]", "}"])
@example(['{"z":', "{", "}", ",", '"a"', ":", "1", "}"])
@example(['{"z":', "[", "1", ",", "]", "}"])
@example(['{"a"', ":", "[", "1", ",", "]", "}"])
def test_takes_no_jumble_of_tokens_otherwise(tokens):
    """Whatever order tokens come in: refused by both, or read alike."""
    agrees(["".join(tokens).encode()])


@pytest.mark.parametrize(
    "number",
    [
        *("0", "-0", "-0.0", "1e22", "1e23", "123456789012345678", "0.1", "5e-324", "1.7976931348623157e308", "1e-400"),
        *(
            "9007199254740993.0",
            "9007199254740992",
            "-9007199254740993",
            "0.30000000000000004",
            "2.2250738585072011e-308",
        ),
        *("1" + "0" * 30, "0." + "0" * 40 + "1", "1." + "0" * 70, "1e0005", "1E+2", "12345678901234567890e-5"),
        *("8.41e21", "9.109383e-31", "1e400", "-1e400", "123456.7890123456789e10"),
    ],
)
def test_reads_numbers_to_the_last_bit(number):
    """Every form of number, on either side of what one operation rounds correctly."""
    agrees([f'{{"a": {number}, "tags": [{number}, 1]}}'.encode()])


def test_takes_the_plain_lines_itself():
    """The fast way is taken: a kernel that left everything aside would agree as well."""
    lines = [
        b'{"a": 1, "b": "gold", "z": {"deep": [1, {"x": null}], "big": 12345678901234567890}}',
        b'{"tags": ["x", "y"], "n": 0.30000000000000004, "flag": true}',
        b"{}",
        b'{"a": null, "b": "\xc3\xa9"}\r',
        b'{"c": 5, "place": [1.5, 2.5]}',
    ]

    assert agrees(lines) == set()


def test_leaves_aside_what_is_not_plain():
    """Escapes, wanted objects, repeated names, big integers, bad UTF-8 and errors go the long way."""
    lines = [
        b'{"a": "\\u00e9"}',
        b'{"c": {"d": 1}}',
        b'{"a": 1, "a": 2}',
        b'{"a": 9007199254740993}',
        b'{"b": "\xff"}',
        b'{"a": 1',
        b"[1]",
    ]

    assert agrees(lines) == set(range(len(lines)))


def test_leaves_aside_what_may_give_an_attribute_twice():
    """A dotted name beside an object goes the long way, whoever asks for it: duplicates make a bad event."""
    lines = [b'{"y.z": 1, "y": {"z": 2}, "a": 1}', b'{"y": {"z.x": 1, "z": {"x": 2}}, "a": 1}', b'{"y.z": 1, "a": 1}']

    assert agrees(lines) == {0, 1}
