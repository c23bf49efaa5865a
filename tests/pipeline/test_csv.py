"""A pipeline reads CSV as `tocsin match` does, in events and in changes."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.running import run
from tocsin.records.formats import FORMATS
from tocsin.spark.csv_pieces import TextsReader, converted
from tocsin.spark.parquet import DamagedFileError

FILES = {
    "a.csv": 'key,text,n,at\na1,"say ""hi"", then go",7.0,2024-05-01\na2,"two\nlines",3,2024-05-01T12:00:00Z\n',
    "b.csv": 'at;n;key;more;text\n;NA;b1;x;""\n2024-05-01;" 3 ";b2;y;\n',
    "c.csv": "key,text,n,at\nc1,x,none,yesterday\nc2,x\nc3,NULL,1e3,2024-05-01\n",
}
SCHEMA = {"key": "string", "text": "string", "n": "number", "at": "instant"}
ASKED = [
    "n = 7",
    "n = 3",
    "n > 100",
    "n IS NULL",
    "text = 'say \"hi\", then go'",
    "text LIKE 'two%lines'",
    "text = ''",
    "text = 'NULL'",
    "text IS NULL",
    "at = DATE('2024-05-01')",
    "at IS NULL",
    "key LIKE 'c%'",
]


def pipeline_of(folder: Path, events: str, changes: str = "") -> Any:
    text = f"""
[events]
kind = "files"
path = "events"
{events}
[subscriptions]
index = "index"
path = "s.jsonl"
{changes}
[sink]
kind = "files"
path = "matches"
format = "json"
[rejects]
path = "rejects"
[run]
checkpoint = "checkpoint"
"""
    (folder / "pipeline.toml").write_text(text)
    return read_pipeline(folder / "pipeline.toml")


def lines(folder: Path, pattern: str) -> list[Any]:
    return [json.loads(line) for file in sorted(folder.glob(pattern)) for line in file.open()]


@pytest.mark.spark
def test_events_match_as_by_the_command(spark: Any, tmp_path: Path) -> None:
    """Columns go by their names, whatever their order; quotes, line ends, absence and misfits mean the same."""
    (tmp_path / "events").mkdir()
    for name, text in FILES.items():
        (tmp_path / "events" / name).write_text(text)
    records = [{"id": f"{number:02}", "where": where} for number, where in enumerate(ASKED)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    expected = {}
    for name in FILES:
        answer = tocsin.match(records, tmp_path / "events" / name, schema=SCHEMA, event_key="key", lists=True)
        expected |= {row["event_key"]: sorted(row["subscription"] or ()) for row in answer.table.to_pylist()}
    schema = "n double, key string, at timestamp, text string"

    outcome = run(pipeline_of(tmp_path, f'format = "csv"\nschema = "{schema}"'), once=True)

    rows = lines(tmp_path, "matches/*/*.json")
    found = {row["key"]: sorted(one["subscription"] for one in row["matches"]) for row in rows if "matches" in row}
    assert found == {key: ids for key, ids in expected.items() if key is not None}
    counts = outcome.progress.counts
    assert (counts["events"], counts["rejected"], counts["reported"]) == (7, 1, 2)
    told = sorted(row["error"] for row in lines(tmp_path, "rejects/events/*/*.json"))
    assert "c.csv: line 3: 2 fields; the header has 4: c2,x" in told[0]
    assert told[1].startswith("at: 'yesterday' is not a date or time") or told[1].startswith(
        "n: 'none' is not a number"
    )


@pytest.mark.spark
def test_a_place_may_come_in_two_columns(spark: Any, tmp_path: Path) -> None:
    """`points` of [match], from files that workers read themselves."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "a.csv").write_text("key,lat,lon\nin,1,2\nout,9,9\nnowhere,,2\n")
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": "x", "where": "S_INTERSECTS(at, BBOX(0, 0, 3, 1.5))"}) + "\n")
    pipeline = pipeline_of(tmp_path, 'format = "csv"\nschema = "key string, lon double, lat double"')

    run(replace(pipeline, points={"at": ("lon", "lat")}), once=True)

    found = {row["key"]: len(row["matches"]) for row in lines(tmp_path, "matches/*/*.json")}
    assert found == {"in": 1, "out": 0, "nowhere": 0}


@pytest.mark.spark
def test_changes_go_by_the_names_of_columns(spark: Any, tmp_path: Path) -> None:
    """In another order than the schema's, with a score of 7.0 and weights as JSON; a wrong score is told."""
    (tmp_path / "events").mkdir()
    (tmp_path / "changes").mkdir()
    (tmp_path / "events" / "1.csv").write_text("k\n1\n")
    (tmp_path / "changes" / "1.csv").write_text(
        'score|id|where|change|version|weights\n7.0|"a"|"k = 1"|insert|3|"{""k"": 2}"\nmuch|b|k = 1|insert|3|\n'
    )
    (tmp_path / "s.jsonl").write_text('{"id": "first", "where": "k > 0"}\n')
    schema = "id string, change string, version bigint, where string, score double, weights map<string, double>"
    changes = f'[subscriptions.changes]\nkind = "files"\npath = "changes"\nformat = "csv"\nschema = "{schema}"'

    outcome = run(pipeline_of(tmp_path, 'format = "csv"\nschema = "k int"', changes), once=True)

    (row,) = lines(tmp_path, "matches/*/*.json")
    assert {one["subscription"]: one["score"] for one in row["matches"]} == {"first": 1.0, "a": 7.0}
    assert outcome.rejected_changes == 1


def read(path: Path, schema: pa.Schema, **options: Any) -> Any:
    (given,) = TextsReader(FORMATS["csv"].read, **options)({"path": str(path), "first": None, "stop": None}, schema)
    return given


def test_a_header_is_checked_and_may_be_missing(tmp_path: Path) -> None:
    """A column that the schema names and the header has not is named; without a header, columns go by their order."""
    path = tmp_path / "a.csv"
    path.write_text("a;10\nb;20\nc\n")
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])

    with pytest.raises(DamagedFileError, match=r"a\.csv has no column 'k', which the schema names; .* header = false"):
        read(path, schema)
    given = read(path, schema, has_header=False, delimiter=";")
    assert given.rows.to_pylist() == [{"k": "a", "n": 10}, {"k": "b", "n": 20}]
    assert given.own.to_pylist() == [{"k": "a", "n": 10.0}, {"k": "b", "n": 20.0}]
    assert [reason.split(": ", 1)[1] for reason in given.refused] == ["line 3: 1 fields; the schema has 2: c"]


@pytest.mark.parametrize(
    ("kind", "texts", "values", "problems"),
    [
        (pa.int8(), ["5", "7.0", "300", "1.5", "x", "NA"], [5, 7, None, None, None, None], [2, 3, 4]),
        (pa.int64(), ["9007199254740991", " 12 "], [9007199254740991, 12], []),
        (pa.decimal128(5, 2), ["1.25", "12345", "x"], [Decimal("1.25"), None, None], [1, 2]),
        (pa.date32(), ["2024-05-01", "2024-05-01T12:00:00Z"], [dt.date(2024, 5, 1)] * 2, []),
        (pa.timestamp("us"), ["2024-05-01 12:00"], [dt.datetime(2024, 5, 1, 12)], []),
        (pa.list_(pa.int64()), ["[1, 2]", "[", '["a"]'], [[1, 2], None, None], [1, 2]),
        (pa.bool_(), ["true", "maybe"], [True, None], [1]),
    ],
)
def test_fields_become_values_of_spark_types(
    kind: pa.DataType, texts: list[str], values: list[Any], problems: list[int]
) -> None:
    """What a type cannot hold is null, and told by its place."""
    _, written, found = converted(pa.array([text.encode() for text in texts], pa.binary()), kind)

    assert written.type == kind
    assert written.to_pylist() == values
    assert sorted(place for place, _ in found) == problems
