"""tocsin update takes a file of changes into an index, tells what cannot be taken, and leaves the rest of the index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main


def update(folder: Path, changes: Path, *more: str) -> int:
    return main(["update", str(folder / "index"), str(changes), *more])


def answers(folder: Path, ranking: Any = None) -> list[Any]:
    found = tocsin.match(folder / "index", [{"n": 1}, {"n": 2}], ranking=ranking, payload=True).table
    return [tuple(row.values()) for row in found.to_pylist()]


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records))
    return path


def put(name: Any, version: Any, where: Any = "n = 1", **more: Any) -> dict[str, Any]:
    return {"id": name, "change": "insert", "version": version, "where": where, **more}


def test_changes_come_in_every_form(tmp_path: Path, capsys: Any) -> None:
    """JSON lines with all fields, CSV with numbers in texts, Parquet; a folder that holds no index becomes one."""
    as_json = {"op": "=", "args": [{"property": "n"}, 2]}
    assert update(tmp_path, lines(tmp_path / "1.jsonl", put("1", 1, payload={"to": "me"}), put("2", 1, as_json))) == 0
    assert answers(tmp_path) == [(0, "1", '{"to": "me"}'), (1, "2", None)]
    (tmp_path / "2.csv").write_text(
        "id,change,version,score,where\n1,rescore,2,7,\n3,insert,1,2.5,n < 9\n2,delete,2,,\n"
    )
    assert update(tmp_path, tmp_path / "2.csv") == 0
    assert answers(tmp_path, tocsin.Top(1)) == [(0, "1", 7.0, '{"to": "me"}'), (1, "3", 2.5, None)]
    records = [put("4", 9, weights=[("n", 2.0)])]
    texts = {name: pa.string() for name in ("id", "change", "where")}
    schema = pa.schema({**texts, "version": pa.int32(), "weights": pa.map_(pa.string(), pa.float64())})
    pq.write_table(pa.Table.from_pylist(records, schema), tmp_path / "3.parquet")
    assert update(tmp_path, tmp_path / "3.parquet") == 0
    assert answers(tmp_path, tocsin.Relaxed(1)) == [(0, "4", 2.0, None), (1, "3", 1.0, None)]
    out = capsys.readouterr().out.splitlines()
    assert out[1].endswith("index is a new index")
    assert out[2].startswith("1 inserted, 0 updated, 1 deleted, 1 rescored, 0 superseded, 0 rejected")
    assert not any("is a new index" in line for line in out[2:])


def test_what_cannot_be_taken_is_told_with_its_row(tmp_path: Path, capsys: Any) -> None:
    """And the rest is taken; the status says so."""
    bad = [
        "junk",
        "[1]",
        put(None, 1),
        put("a", "x"),
        put("a", True),
        put("a", 2**63),
        put("a", 1, "n ="),
        put(3, 1),
        put("a", 1, score="much"),
        {"id": "a", "change": 1, "version": 1},
        {"id": "nobody", "change": "rescore", "version": 1, "score": 1},
    ]

    status = update(tmp_path, lines(tmp_path / "c.jsonl", put("good", 1), *bad), "--errors", str(tmp_path / "e.jsonl"))

    assert status == 1
    assert answers(tmp_path) == [(0, "good", None)]
    told = [json.loads(line) for line in (tmp_path / "e.jsonl").open()]
    assert sorted(one["row"] for one in told) == list(range(1, 12))
    assert {one["row"]: one["field"] for one in told} == dict(
        enumerate(["", "", "id", "version", "version", "version", "where", "id", "score", "change", "id"], 1)
    )
    assert "the ids of the index are strings, but this one is an integer" in next(
        o["reason"] for o in told if o["row"] == 8
    )
    assert "11 rejected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ("nowhere.jsonl", "no file"),
        ("bad.jsonl", "tocsin update: no change could be read"),
        ("short.csv", "change 0 (a): version: the version is missing"),
        ("short.parquet", "changes need a column 'version'"),
    ],
)
def test_what_could_not_run_says_why(tmp_path: Path, capsys: Any, changes: str, words: str) -> None:
    """In one line, and makes no index of it."""
    lines(tmp_path / "bad.jsonl", "junk")
    (tmp_path / "short.csv").write_text("id,change\na,delete\n")
    pq.write_table(pa.table({"id": ["a"], "change": ["delete"]}), tmp_path / "short.parquet")

    assert update(tmp_path, tmp_path / changes) == 2

    assert words in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_integers_stay_integers(tmp_path: Path) -> None:
    """The kind of an index's ids is that of its first; in a CSV digits are what the index's ids are."""
    assert update(tmp_path, lines(tmp_path / "1.jsonl", put(1, 1), put(2, 1, "n = 2"))) == 0
    (tmp_path / "2.csv").write_text("id,change,version\n1,delete,2\n")
    assert update(tmp_path, tmp_path / "2.csv") == 0
    assert answers(tmp_path) == [(1, 2, None)]
    assert update(tmp_path, lines(tmp_path / "3.jsonl", put("2", 3))) == 2


def test_a_deletion_of_nobody_is_told(tmp_path: Path, capsys: Any) -> None:
    """It counts, for what it deletes may come late; a misspelt id is not silent."""
    changes = [put("1", 1), put("2", 1)]
    assert update(tmp_path, lines(tmp_path / "1.jsonl", *changes)) == 0
    gone = [{"id": name, "change": "delete", "version": 2} for name in ("1", "on", "tow")]
    capsys.readouterr()

    assert update(tmp_path, lines(tmp_path / "2.jsonl", *gone)) == 0

    shown = capsys.readouterr()
    assert "3 deleted" in shown.out
    assert shown.err.strip().endswith("2 of the deleted were not in the index: misspelt, or deleted before")
    assert (
        update(tmp_path, lines(tmp_path / "3.jsonl", put("on", 1), {"id": "2", "change": "delete", "version": 3})) == 0
    )
    shown = capsys.readouterr()
    assert "0 inserted" in shown.out
    assert "not there" not in shown.err
