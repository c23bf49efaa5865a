"""A schema says the types of attributes in whatever form events come, and the answer is the same in all."""

from __future__ import annotations

import csv
import datetime
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin

SCHEMA = {"n": "number", "s": "string", "b": "boolean", "t": "instant"}
SUBSCRIPTIONS = [
    {"id": "n", "where": "n >= 2"},
    {"id": "no n", "where": "n IS NULL"},
    {"id": "s", "where": "s = '5' OR s LIKE 'N%'"},
    {"id": "b", "where": "b"},
    {"id": "t", "where": "t >= TIMESTAMP('2024-05-31T00:00:00Z')"},
    {"id": "all", "where": "n IS NOT NULL AND s IS NOT NULL AND b IS NOT NULL AND t IS NOT NULL"},
]


def told(source: Any, schema: dict[str, str] = SCHEMA, **options: Any) -> tuple[list, list]:
    answer = tocsin.match(SUBSCRIPTIONS, source, schema=schema, **options)
    rejects = [(reject.row, reject.field, reject.reason) for reject in answer.event_errors]
    return answer.table.to_pylist(), sorted(rejects)


TEXTS = {
    "n": ["1", "2.5", "-3", "1e3", "NA", "null", "five", "9007199254740993"],
    "s": ["5", "NA", "x", "", "true"],
    "b": ["true", "false", "N/A", "maybe"],
    "t": ["2024-05-31", "2024-06-01T00:00:00Z", "2024-05-30T23:00:00-02:00", "NaN", "soon"],
}


@given(
    st.lists(
        st.fixed_dictionaries({name: st.sampled_from([None, *texts]) for name, texts in TEXTS.items()}), min_size=1
    )
)
def test_texts_say_the_same_in_every_form(rows: list[dict[str, str | None]]) -> None:
    """CSV, JSON lines, dicts, Arrow and Parquet, and what is wrong with them."""
    rows = [*rows, {"n": "2", "s": "5", "b": "true", "t": "2024-06-01T00:00:00Z"}]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(SCHEMA)
    for row in rows:  # an empty text is quoted, absence is nothing
        text.write(",".join("" if row[name] is None else f'"{row[name]}"' for name in SCHEMA) + "\n")
    objects = [{name: value for name, value in row.items() if value is not None} for row in rows]
    lines = "".join(json.dumps(one) + "\n" for one in objects).encode()
    table = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in SCHEMA]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.csv"
        path.write_text(text.getvalue(), "utf-8")
        expected = told(path)
        pq.write_table(table, Path(folder) / "events.parquet")
        assert told(Path(folder) / "events.parquet") == expected
        (Path(folder) / "events.jsonl").write_bytes(lines)
        assert told(Path(folder) / "events.jsonl", threads=2) == expected
    assert told(objects) == expected
    assert told(lines) == expected
    assert told(table) == expected


def test_values_that_have_their_type_stay() -> None:
    when = datetime.datetime(2024, 6, 1, tzinfo=datetime.UTC)
    matches, rejects = told([{"n": 2, "s": "5", "b": True, "t": when}])

    assert [row["subscription"] for row in matches] == ["all", "b", "n", "s", "t"]
    assert rejects == []


@pytest.mark.parametrize(
    ("event", "field", "reason"),
    [
        ({"s": 5}, "s", "a number, but the schema says 'string'"),
        ({"n": True}, "n", "a boolean, but the schema says 'number'"),
        ({"t": 1717200000}, "t", "a number, but the schema says 'instant'"),
        ({"n": [1, 2]}, "n", "a list, but the schema says 'number'"),
        ({"n": "x"}, "n", "'x' is not a number"),
    ],
)
def test_what_is_of_another_type_is_a_misfit(event: dict[str, Any], field: str, reason: str) -> None:
    """It is reported, present, and of no type; the rest of the event is served."""
    matches, rejects = told([event | {"b": True} if field != "b" else event, {"n": 2}])

    assert [(row, name) for row, name, _ in rejects] == [(0, field)]
    assert reason in rejects[0][2]
    assert [row["subscription"] for row in matches if row["event"] == 0] == (["b"] if field == "n" else ["b", "no n"])


def test_ranges_are_of_the_type_of_their_ends() -> None:
    matches, rejects = told([{"n": tocsin.Range(1, 3)}, {"n": 1}])

    assert {row["subscription"] for row in matches if row["event"] == 0} == {"n"}
    assert rejects == []


def test_what_nobody_asks_for_is_not_converted() -> None:
    assert told([{"other": "x", "n": 2}], {"other": "number"})[1] == []


def test_nested_attributes() -> None:
    held = [{"id": 1, "where": "seller.since < DATE('2020-01-01')"}]
    events = [{"seller": {"since": "2019-05-01"}}, {"seller": {"since": "2021-05-01"}}]

    answer = tocsin.match(held, events, schema={"seller.since": "instant"})

    assert answer.table["event"].to_pylist() == [0]


def test_samples_go_by_the_schema() -> None:
    statistics = tocsin.sample([{"n": "NA"}, {"n": "3"}], schema={"n": "number"})

    assert statistics.shares["n"] == 0.5


PLACES = [
    "POINT(1 1)",
    " point ( 1.0  1e0 ) ",
    "POINT(9 9)",
    "POINT(1)",
    "POLYGON((0 0, 1 0, 1 1, 0 0))",
    "POINT(1e999 1)",
]


def test_texts_are_places_where_the_schema_says_so(tmp_path: Path) -> None:
    """Well-known text in JSON lines, dicts, tables and CSV; other forms of places stay, the rest is told of."""
    asked = [{"id": "in", "where": "S_INTERSECTS(at, BBOX(0, 0, 2, 2))"}, {"id": "there", "where": "at IS NOT NULL"}]
    events: list[dict[str, Any]] = [{"at": text} for text in PLACES]
    (tmp_path / "e.csv").write_text("at,n\n" + "".join(f'"{text}",1\n' for text in PLACES))
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()
    for source in (events, lines, pa.table({"at": PLACES}), tmp_path / "e.csv"):
        answer = tocsin.match(asked, source, schema={"at": "geometry"})
        inside = [row["event"] for row in answer.table.to_pylist() if row["subscription"] == "in"]
        assert inside == [0, 1, 4]
        assert [(reject.row, reject.field) for reject in answer.event_errors] == [(3, "at"), (5, "at")]
        assert "is not a place: " in answer.event_errors[0].reason
        assert len(answer) == 3 + len(PLACES)
    others = [
        {"at": [1, 1]},
        {"at": [0, 0, 5, 5]},
        {"at": {"type": "Point", "coordinates": [1, 1]}},
        {"at": [1]},
        {"at": 5},
    ]
    answer = tocsin.match(asked[:1], others, schema={"at": "geometry"})
    assert answer.table["event"].to_pylist() == [0, 1, 2]
    assert [reject.row for reject in answer.event_errors] == [3, 4]
    assert len(tocsin.match(asked[:1], [{"at": "POINT(1 1)"}]).warnings) == 1
