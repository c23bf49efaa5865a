"""Two hundred malformed inputs: each ends in an error of tocsin's that says what is wrong, or costs itself alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tocsin.language import parse_any

TEXTS = (Path(__file__).parent / "malformed.txt").read_text("utf-8").removesuffix("\n").split("\n")

FORMS: list[Any] = [
    {},
    {"op": "="},
    {"op": "=", "args": []},
    {"op": "=", "args": [{"property": "a"}]},
    {"op": "=", "args": [{"property": "a"}, 1, 2]},
    {"op": "==", "args": [{"property": "a"}, 1]},
    {"op": 5, "args": [1, 2]},
    {"op": "=", "args": {"property": "a"}},
    {"op": "=", "args": [{"property": 5}, 1]},
    {"op": "=", "args": [{"property": ""}, 1]},
    {"op": "=", "args": [{"prop": "a"}, 1]},
    {"op": "=", "args": [{"property": "a"}, [1]]},
    {"op": "and", "args": []},
    {"op": "and", "args": [{"property": "a"}, 5]},
    {"op": "not", "args": []},
    {"op": "not", "args": [1, 2]},
    {"op": "in", "args": [{"property": "a"}]},
    {"op": "in", "args": [{"property": "a"}, 5]},
    {"op": "in", "args": [{"property": "a"}, []]},
    {"op": "between", "args": [{"property": "a"}, 1]},
    {"op": "like", "args": [{"property": "a"}, 5]},
    {"op": "isNull", "args": []},
    {"op": "casei", "args": []},
    {"op": "nosuch", "args": [{"property": "a"}]},
    {"op": "=", "args": [{"property": "a"}, {"date": "2024-13-01"}]},
    {"op": "=", "args": [{"property": "a"}, {"timestamp": 5}]},
    {"op": "=", "args": [{"property": "a"}, 2**60]},
    {"op": "s_intersects", "args": [{"property": "a"}, {"type": "Point"}]},
    {"op": "s_intersects", "args": [{"property": "a"}, {"bbox": [1, 2, 3]}]},
    {"op": "a_contains", "args": [{"property": "a"}, "x"]},
    {"property": "a", "op": "="},
    {"args": [1, 2]},
    [],
    [{"op": "="}],
    5,
    None,
]

RECORDS: list[Any] = [
    {},
    {"id": "x"},
    {"where": "n = 1"},
    {"id": None, "where": "n = 1"},
    {"id": 1.5, "where": "n = 1"},
    {"id": True, "where": "n = 1"},
    {"id": ["x"], "where": "n = 1"},
    {"id": 2**70, "where": "n = 1"},
    {"id": "x", "where": None},
    {"id": "x", "where": 5},
    {"id": "x", "where": ""},
    {"id": "x", "where": "n = 1", "score": "high"},
    {"id": "x", "where": "n = 1", "score": float("nan")},
    {"id": "x", "where": "n = 1", "score": True},
    {"id": "x", "where": "n = 1", "payload": {1, 2}},
    {"id": "x", "where": "n = 1", "payload": float("inf")},
    {"id": "x", "where": "n = 1", "weights": 5},
    {"id": "x", "where": "n = 1", "weights": {"n": "heavy"}},
    {"id": "x", "where": "n = 1", "weights": {"n": -1}},
    {"id": "x", "where": "n = 1", "weights": {"m": 1}},
    {"id": "x", "predicates": []},
    {"id": "x", "predicates": [{"attribute": "n"}]},
    {"id": "x", "predicates": [{"attribute": "n", "op": "~", "value": 1}]},
    {"id": "x", "predicates": [{"attribute": "n", "op": "=", "value": "x"}]},
    "x",
    5,
    None,
    ["x", "n = 1"],
]

LINES = [
    *(b"{", b"}", b"[]", b"5", b"null", b'"x"', b"{n: 1}", b"{'n': 1}", b'{"n": 1,}', b'{"n" 1}', b'{"n": }'),
    *(b'{"n": 01}', b'{"n": NaN}', b'{"n": 1} {"n": 2}', b'{"n": "\xff"}', b'{"n": "\\x"}', b'{"n": "a\tb"}'),
    *(b'{"n": tru}', b"\x00", b'{"n": 1', b"<n>1</n>", b"n,m"),
]

FILES: dict[str, bytes] = {
    "empty.parquet": b"",
    "text.parquet": b"PAR1 but no more",
    "empty.arrow": b"",
    "text.arrow": b"ARROW1 but no more",
    "cut.json": b'[{"n": 1}, {"n"',
    "header.csv": b'"',
    "twice.csv": b"n,n\n1,2\n",
    "file.txt": b"n = 1",
    "file": b"n = 1",
    "packed.jsonl.gz": b"no gzip",
    "packed.csv.zst": b"no zstd",
    "packed.parquet.gz": b"PAR1",
}

OPTIONS: list[tuple[str, Callable[[], Any]]] = [
    ("index", lambda: tocsin.match(GOOD, [{}], index="nosuch")),
    ("index option", lambda: tocsin.match(GOOD, [{}], index="opindex(colour=5)")),
    ("index text", lambda: tocsin.match(GOOD, [{}], index="opindex(")),
    ("ranking", lambda: tocsin.match(GOOD, [{}], ranking=5)),  # type: ignore[arg-type]
    ("top", lambda: tocsin.match(GOOD, [{}], ranking=tocsin.Top(0))),
    ("relaxed", lambda: tocsin.match(GOOD, [{}], ranking=tocsin.Relaxed(3, combine="mean"))),
    ("threads", lambda: tocsin.match(GOOD, [{}], threads=0)),
    ("schema", lambda: tocsin.match(GOOD, [{}], schema={"n": "float"})),
    ("delimiter", lambda: tocsin.match(GOOD, [{}], delimiter=";")),
    ("points", lambda: tocsin.match(GOOD, [{}], points={"p": "x"})),  # type: ignore[dict-item]
    ("event_key", lambda: tocsin.match(GOOD, [{}], event_key=5)),  # type: ignore[arg-type]
    ("events", lambda: tocsin.match(GOOD, 5)),  # type: ignore[arg-type]
    ("subscriptions", lambda: tocsin.match(None, [{}])),  # type: ignore[arg-type]
    ("table", lambda: tocsin.match(pa.table({"n": [1]}), [{}])),
    ("delta_limit", lambda: tocsin.Engine(delta_limit=0)),
    ("range", lambda: tocsin.Range(5, 1)),
    ("sample", lambda: tocsin.sample([])),
    ("limit", lambda: tocsin.sample([{}], limit=0)),
    ("sparse", lambda: tocsin.SparseEvents(pa.table({"n": [1]}))),
    ("conjunctions", lambda: tocsin.Conjunctions(pa.table({"n": [1]}))),
]
GOOD = [{"id": "good", "where": "n = 1"}]
BARE = ("Errno", "pyarrow", "unhashable", "object has no", "Traceback", "subscriptable", "keyword argument")


def says_what_to_do(reason: str) -> None:
    """A sentence of ours, and nothing of a library's."""
    assert len(reason) >= 12, reason
    assert not any(bare in reason for bare in BARE), reason


@pytest.mark.parametrize("text", [pytest.param(text, id=repr(text)) for text in TEXTS])
def test_texts(text: str) -> None:
    """With the place, where there is one."""
    with pytest.raises(tocsin.ExpressionError) as told:
        tocsin.parse(text)
    says_what_to_do(told.value.reason)
    assert told.value.line >= 1


@pytest.mark.parametrize("form", FORMS, ids=lambda form: json.dumps(form)[:50])
def test_json_forms(form: Any) -> None:
    with pytest.raises(tocsin.TocsinError) as told:
        parse_any(form)
    says_what_to_do(str(told.value))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: repr(record)[:50])
def test_subscriptions(record: Any) -> None:
    """Each costs itself alone."""
    report = tocsin.Engine().subscribe_many([*GOOD, record])

    assert report.accepted == 1
    assert [error.row for error in report.errors] == [1]
    says_what_to_do(report.errors[0].reason)


@pytest.mark.parametrize("line", LINES, ids=repr)
def test_lines(line: bytes) -> None:
    """So does each line, of events and of subscriptions."""
    answer = tocsin.match(GOOD, b'{"n": 1}\n' + line + b'\n{"n": 1}\n')
    assert (len(answer), [error.row for error in answer.event_errors]) == (2, [1])
    says_what_to_do(answer.event_errors[0].reason)
    taken = tocsin.Engine().subscribe_many(json.dumps(GOOD[0]).encode() + b"\n" + line)
    assert (taken.accepted, [error.row for error in taken.errors]) == (1, [1])


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])

    with pytest.raises(tocsin.TocsinError) as told:
        tocsin.match(GOOD, tmp_path / name)
    assert name in str(told.value) or "no event could be read" in str(told.value)
    says_what_to_do(str(told.value))


@pytest.mark.parametrize(("what", "call"), OPTIONS, ids=[what for what, _ in OPTIONS])
def test_options(what: str, call: Callable[[], Any]) -> None:
    with pytest.raises(tocsin.TocsinError) as told:
        call()
    says_what_to_do(str(told.value))


def test_there_are_two_hundred() -> None:
    assert len(TEXTS) + len(FORMS) + len(RECORDS) + len(LINES) + len(FILES) + len(OPTIONS) >= 200
