"""However JSON lines are parsed, they mean what Python's `json` reads, number by number and byte by byte."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin

SUBSCRIPTIONS = [
    {"id": "absent", "where": "n IS NULL"},
    {"id": "list", "where": "A_OVERLAPS(l, ('a', 'é', 1, ''))"},
    {"id": "nested", "where": "a.b = 1 OR a.b = 'x'"},
    {"id": "number", "where": "n >= 1"},
    {"id": "other", "where": "flag OR NOT flag OR flag IS NULL"},
    {"id": "text", "where": "s LIKE '%a%' OR s = 'é' OR s = ''"},
]
SEEDS = [
    '{"n": 1, "s": "a", "flag": true}',
    '{"n":-1.5e2,"s":"","l":["a",1,null],"a":{"b":1}}',
    ' { "a.b" : "x" , "s" : "\\u00e9\\n\\"\\\\" , "n" : null } ',
    '{"l": [], "a": {"b": {"c": 1}}, "s": "é😀", "unused": [{"x": [1, {}]}]}',
    '{"n": 0, "n": 2, "flag": false, "s": "\\ud83d\\ude00a"}',
    "{}",
]
PIECES = [*'{}[]":,\\/ \t.-+0123456789eEnultrfasx\x00\x1f\x7f', "é", '""', "null", "1e400", "NaN", "\\u", "\\ud800"]
number_texts = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**53), 2**53).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,25})\.[0-9]{1,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?(0|[1-9][0-9]{0,5})[eE][+-]?[0-9]{1,3}", fullmatch=True),
)


def reference(line: bytes) -> dict[str, Any] | None:
    """What the standard parser reads, None where it is no JSON object."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        record = json.loads(line.decode(), parse_constant=refuse, object_pairs_hook=refuse_twice)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def mutated(dice: random.Random) -> bytes:
    """A line that is JSON, or was before some of its characters were changed."""
    text = dice.choice(SEEDS)
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        at, length = dice.randrange(len(text) + 1), dice.choice((0, 0, 1, 3))
        text = text[:at] + dice.choice(PIECES) + text[at + length :]
    line = text.encode()
    if dice.random() < 0.1:
        at = dice.randrange(len(line) + 1)
        line = line[:at] + bytes([dice.randrange(256)]) + line[at + dice.choice((0, 1)) :]
    return line.replace(b"\n", b" ").replace(b"\r", b" ")


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_any_line_is_read_as_the_standard_parser_reads_it(seed):
    """The same lines are refused, and the others give the same matches and reports, in a batch of many."""
    dice = random.Random(seed)
    lines = [line for line in (mutated(dice) for _ in range(80)) if line.strip()]
    objects = [reference(line) for line in lines]
    plain = tocsin.match(SUBSCRIPTIONS, [{} if record is None else record for record in objects])

    answer = tocsin.match(SUBSCRIPTIONS, b"\n".join(lines))

    refused = {row for row, record in enumerate(objects) if record is None}
    assert pairs(answer) == [pair for pair in pairs(plain) if pair[0] not in refused]
    assert {error.row for error in answer.errors if "line " in error.reason} == refused
    reported = sorted((e.row, e.field, e.reason) for e in answer.errors if e.row not in refused)
    assert reported == sorted((e.row, e.field, e.reason) for e in plain.errors)


@settings(max_examples=60)
@given(texts=st.lists(number_texts, min_size=1, max_size=40))
def test_numbers_are_read_to_the_last_bit(texts):
    """A number as text is the float64 nearest to it, as Python rounds it; beyond them all it is of no type."""
    values = [float(text) for text in texts]
    finite = {value for value in values if abs(value) != float("inf")}
    subscriptions = [{"id": number, "where": f"v = {value!r}"} for number, value in enumerate(sorted(finite))]
    subscriptions.append({"id": -1, "where": "v IS NULL"})

    answer = tocsin.match(subscriptions, "\n".join(f'{{"v": {text}}}' for text in texts).encode())

    order = sorted(finite)
    assert pairs(answer) == [(row, order.index(value)) for row, value in enumerate(values) if value in finite]
    assert [error.row for error in answer.errors] == [row for row, value in enumerate(values) if value not in finite]


@settings(max_examples=60)
@given(texts=st.lists(st.text(max_size=8), min_size=1, max_size=20), ascii_only=st.booleans())
def test_strings_are_read_to_the_last_code_point(texts, ascii_only):
    """Escaped or as UTF-8, a string is the string that was written; half a surrogate pair has no type."""
    whole = [text for text in texts if not any("\ud800" <= c <= "\udfff" for c in text)]
    subscriptions = [
        {"id": number, "where": {"op": "=", "args": [{"property": "v"}, text]}}
        for number, text in enumerate(set(whole))
    ]
    lines = [json.dumps({"v": text}, ensure_ascii=ascii_only) for text in whole]

    answer = tocsin.match(subscriptions, "\n".join(lines).encode())

    number = {text: place for place, text in enumerate(set(whole))}
    assert pairs(answer) == [(row, number[text]) for row, text in enumerate(whole)]
    assert answer.errors == []
