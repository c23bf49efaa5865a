"""A bad subscription is reported with its row, id, field and reason, and never costs the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin

GOOD = {"id": "good", "where": "n = 1"}

BAD_RECORDS: dict[str, tuple[Any, Any, str, str]] = {  # the record, and the reject's id, field and reason
    "malformed text": ({"id": "x", "where": "n = AND"}, "x", "where", "line 1, column 5"),
    "unclosed parenthesis": ({"id": "x", "where": "(n = 1"}, "x", "where", "unclosed '('"),
    "unclosed string": ({"id": "x", "where": "s = 'a"}, "x", "where", "line 1, column 5"),
    "empty text": ({"id": "x", "where": ""}, "x", "where", "empty"),
    "unknown function": ({"id": "x", "where": "FOO(n) = 1"}, "x", "where", "no function 'FOO'"),
    "bad regex": ({"id": "x", "where": "MATCHES(s, '(')"}, "x", "where", "regular expression"),
    "inverted box": ({"id": "x", "where": "S_INTERSECTS(p, BBOX(0,1,1,0))"}, "x", "where", "minimum above its maximum"),
    "number too large": ({"id": "x", "where": "n = 9007199254740993"}, "x", "where", "cannot be represented exactly"),
    "infinite number": ({"id": "x", "where": "n < 1e400"}, "x", "where", "1e400"),
    "malformed JSON": ({"id": "x", "where": '{"op": '}, "x", "where", "not JSON"),
    "JSON without an operator": ({"id": "x", "where": {}}, "x", "where", "op and args"),
    "no text": ({"id": "x", "where": 5}, "x", "where", "not an int"),
    "no expression": ({"id": "x"}, "x", "where", "no expression"),
    "null expression": ({"id": "x", "where": None}, "x", "where", "no expression"),
    "lone surrogate": ({"id": "x", "where": "s = '\ud800'"}, "x", "where", "surrogate"),
    "no id": ({"where": "n = 1"}, None, "id", "no id"),
    "float id": ({"id": 1.0, "where": "n = 1"}, None, "id", "not a float"),
    "boolean id": ({"id": True, "where": "n = 1"}, None, "id", "not a bool"),
    "id beyond 64 bits": ({"id": 2**63, "where": "n = 1"}, 2**63, "id", "64 bits"),
    "payload with a lone surrogate": (
        {"id": "x", "where": "n = 1", "payload": ["\ud800"]},
        "x",
        "payload",
        "surrogate",
    ),
    "id with a lone surrogate": ({"id": "\ud800", "where": "n = 1"}, "\ud800", "id", "surrogate"),
    "score NaN": ({"id": "x", "where": "n = 1", "score": float("nan")}, "x", "score", "not finite"),
    "score infinite": ({"id": "x", "where": "n = 1", "score": float("-inf")}, "x", "score", "not finite"),
    "score too large": ({"id": "x", "where": "n = 1", "score": 10**400}, "x", "score", "not finite"),
    "score text": ({"id": "x", "where": "n = 1", "score": "2"}, "x", "score", "a number, not '2'"),
    "score boolean": ({"id": "x", "where": "n = 1", "score": True}, "x", "score", "a number, not True"),
    "weights text": ({"id": "x", "where": "n = 1", "weights": "n"}, "x", "weights", "this is 'n'"),
    "weight negative": ({"id": "x", "where": "n = 1", "weights": {"n": -1}}, "x", "weights", "-1"),
    "weight of an element": (
        {"id": "x", "where": "ANY(items, n = 1)", "weights": {"n": 1}},
        "x",
        "weights",
        "it names items",
    ),
    "weight NaN": ({"id": "x", "where": "n = 1", "weights": {"n": float("nan")}}, "x", "weights", "nan"),
    "no object": ("n = 1", None, "", "object"),
}


@pytest.mark.parametrize("kind", BAD_RECORDS)
def test_a_bad_record_costs_only_itself(kind: str) -> None:
    """It is reported once, with its row, id, field and reason; the subscriptions around it answer."""
    record, name, field, reason = BAD_RECORDS[kind]

    answer = tocsin.match([GOOD, record, {"id": "last", "where": "n = 1"}], [{"n": 1}])

    assert answer.table["subscription"].to_pylist() == ["good", "last"]
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(1, name, field)]
    assert reason in answer.errors[0].reason
    assert answer.subscription_errors == answer.errors
    assert answer.stats.subscriptions == 2


@pytest.mark.parametrize("kind", BAD_RECORDS)
def test_strict_stops_at_the_first_bad_record(kind: str) -> None:
    """The error names the row, counted from 0, and carries the field."""
    record, _, field, _ = BAD_RECORDS[kind]

    with pytest.raises(tocsin.RecordError, match="subscription 1: ") as caught:
        tocsin.match([GOOD, record, {"id": "x"}], [{"n": 1}], strict=True)
    assert caught.value.field == field


def test_of_two_subscriptions_with_one_id_the_first_is_kept() -> None:
    """The second is a reject that names the id."""
    answer = tocsin.match([GOOD, {"id": "good", "where": "n = 2"}, {"id": "b", "where": "n = 1"}], [{"n": 1}, {"n": 2}])

    assert [tuple(row.values()) for row in answer.table.to_pylist()] == [(0, "b"), (0, "good")]
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(1, "good", "id")]
    assert "'good' exists already" in answer.errors[0].reason


@pytest.mark.parametrize(
    ("ids", "kept", "refused"),
    [
        (["1", 1], ["1"], [(1, 1)]),
        ([1, "1"], ["1"], [(0, 1)]),
        ([7, "a", "b"], ["a", "b"], [(0, 7)]),
        (["a", 8, 7], [7, 8], [(0, "a")]),
    ],
)
def test_ids_are_of_one_kind(ids: list, kept: list, refused: list) -> None:
    """The kind that most ids have is served, strings on a tie, in whatever order they come; the others are rejects."""
    answer = tocsin.match([{"id": name, "where": "n = 1"} for name in ids], [{"n": 1}])

    assert answer.table["subscription"].to_pylist() == kept
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(row, name, "id") for row, name in refused]
    assert "use one kind" in answer.errors[0].reason


def test_rows_of_rejects_are_right_beyond_a_chunk() -> None:
    """Rows count on through chunks, and a double is found across them."""
    records = [{"id": number, "where": "n = 1"} for number in range(17_000)]
    records[16_383], records[16_384] = {"id": 1, "where": "n = 1"}, {"id": 16_384, "where": "n ="}
    records[16_999] = {"id": 0, "where": "n = 1"}

    answer = tocsin.match(records, [{"n": 1}])

    assert [(r.row, r.id) for r in answer.errors] == [(16_383, 1), (16_384, 16_384), (16_999, 0)]
    assert len(answer) == 16_997


def test_bad_json_lines_of_subscriptions_are_rejects(tmp_path: Path) -> None:
    """A line that is no record is reported with its line; the rest is compiled."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([b"{", b"", json.dumps(GOOD).encode(), b"\xff", b"[]"]))

    answer = tocsin.match(path, [{"n": 1}])

    assert answer.table["subscription"].to_pylist() == ["good"]
    assert [(r.row, r.reason.split(":")[0]) for r in answer.errors] == [(0, "line 1"), (2, "line 4"), (3, "line 5")]


def test_bad_rows_of_a_table_of_subscriptions_are_rejects() -> None:
    """Null ids and expressions, and scores that are not finite, cost their rows only; a null score is 1."""
    records = pa.table(
        {
            "id": ["a", None, "c", "d", "e"],
            "where": ["n = 1", "n = 1", None, "n = 1", "n = 1"],
            "score": [None, 1.0, 1.0, float("inf"), 2.0],
            "weights": pa.array([[("n", 2.0)], None, None, None, [("n", 0.0)]], pa.map_(pa.string(), pa.float64())),
            "another column": range(5),
        }
    )

    answer = tocsin.match(records, [{"n": 1}], ranking=tocsin.Top(5))

    assert [tuple(row.values()) for row in answer.table.to_pylist()] == [(0, "e", 2.0), (0, "a", 1.0)]
    assert [(r.row, r.id, r.field) for r in answer.errors] == [(1, None, "id"), (2, "c", "where"), (3, "d", "score")]


@pytest.mark.parametrize("lacking", ["id", "where"])
@pytest.mark.parametrize("form", ["table", "csv", "parquet", "arrow"])
def test_a_table_without_the_columns_is_refused_as_a_whole(form: str, lacking: str, tmp_path: Path) -> None:
    """The message names the column that is missing."""
    table = pa.table({"id": ["a"], "where": ["n = 1"]}).drop_columns([lacking]).append_column("x", pa.array([1]))
    source: Any = table
    if form == "csv":
        source = tmp_path / "s.csv"
        source.write_text(",".join(table.column_names) + "\na,b\n")
    elif form == "parquet":
        source = tmp_path / "s.parquet"
        pq.write_table(table, source)
    elif form == "arrow":
        source = tmp_path / "s.arrow"
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table)

    with pytest.raises(tocsin.InvalidInput, match=f"need a column '{lacking}'"):
        tocsin.match(source, [{"n": 1}])


def test_nothing_accepted_is_an_answer_too() -> None:
    """With no subscriptions given, nothing matches, and lists are empty."""
    for subscriptions in ([], b""):
        answer = tocsin.match(subscriptions, [{"n": 1}], lists=True, ranking=tocsin.Top(1))

        assert answer.table.to_pylist() == [{"event": 0, "subscription": [], "score": []}]
