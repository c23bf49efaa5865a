"""Fields that the record of a subscription has beside those that tocsin knows."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.errors import InvalidInput

RECORDS = [
    {"id": "a", "where": "n > 1", "team": "north", "scor": 2},
    {"id": "b", "where": "n > 2", "team": "south", "scor": 3},
]


def forms(folder: Path) -> dict[str, Any]:
    table = pa.table({name: [record[name] for record in RECORDS] for name in RECORDS[0]})
    pq.write_table(table, folder / "s.parquet")
    pq.write_table(table.rename_columns(["id", "where", "team", "s.r"]), folder / "dotted.parquet")
    table.to_pandas().to_csv(folder / "s.csv", index=False)
    (folder / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return {
        "dicts": RECORDS,
        "json": (folder / "s.jsonl").read_bytes(),
        "json file": str(folder / "s.jsonl"),
        "csv": str(folder / "s.csv"),
        "parquet": str(folder / "s.parquet"),
        "arrow": table,
        "pandas": table.to_pandas(),
        "several": [str(folder / "s.jsonl"), str(folder / "s.csv")],
        "pattern": str(folder / "[s].parquet"),
        "dotted": str(folder / "dotted.parquet"),
    }


def test_all_forms_ignore_other_fields_and_tell(tmp_path: Path) -> None:
    """Each name once, with what was perhaps meant; the subscriptions are taken."""
    for form, source in forms(tmp_path).items():
        report = tocsin.Engine().subscribe_many(source)

        assert report.accepted == 2, form
        told = {notice.attribute: notice.reason for notice in report.warnings}
        assert set(told) == {"team", "s.r" if form == "dotted" else "scor"}, form
        assert "payload_columns=['team'] keeps it" in told["team"]
        assert form == "dotted" or "did you mean score?" in told["scor"]


def test_all_forms_keep_fields_in_the_payload(tmp_path: Path) -> None:
    """Those that are named; null is left out, and of what is kept nothing is told."""
    for form, source in forms(tmp_path).items():
        if form == "dotted":
            continue
        answer = tocsin.match(source, [{"n": 3}], payload=True, payload_columns=["team"])

        payloads = [json.loads(row["payload"]) for row in answer.table.to_pylist()]
        assert payloads == [{"team": "north"}, {"team": "south"}], form
        assert [notice.attribute for notice in answer.warnings] == ["scor"], form


def test_kept_fields_join_the_payload() -> None:
    """An object takes them; another payload is a reject; dates are texts."""
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "where": ["n = 1"] * 3,
            "payload": ['{"x": 1}', "5", None],
            "since": [dt.date(2024, 5, 31), dt.date(2024, 5, 31), None],
        }
    )
    engine = tocsin.Engine()

    report = engine.subscribe_many(table, payload_columns=["since"])

    assert [(reject.id, reject.field) for reject in report.errors] == [("b", "payload")]
    assert engine.payload("a") == {"x": 1, "since": "2024-05-31"}
    assert engine.payload("c") is None


def test_names_that_no_record_has_are_told(tmp_path: Path) -> None:
    """And names of fields, or a text in the place of a list, are refused."""
    report = tocsin.Engine().subscribe_many(RECORDS, payload_columns=["team", "scor", "mail"])

    assert [(one.attribute, one.reason) for one in report.warnings] == [("mail", "no subscription has it")]
    for wrong in (["score"], "team", [5]):
        with pytest.raises(InvalidInput, match="payload_columns"):
            tocsin.match(RECORDS, [{"n": 1}], payload_columns=wrong)
    assert tocsin.Engine().subscribe_many(pd.DataFrame({"id": [1], "where": ["n = 1"]})).warnings == ()


def test_commands_tell_and_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """match and compile take the names; check and update tell, too; the status is that of a clean run."""
    monkeypatch.chdir(tmp_path)
    forms(tmp_path)
    (tmp_path / "e.jsonl").write_text('{"n": 2}\n')
    (tmp_path / "c.jsonl").write_text('{"id": "z", "change": "insert", "version": 1, "where": "n = 9", "wheer": 1}\n')

    assert main(["match", "s.csv", "e.jsonl", "--payload", "--payload-columns", "team"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(json.loads(out)["payload"]) == {"team": "north"}
    assert "scor" in err and "field team" not in err
    for arguments in (["compile", "s.jsonl", "index"], ["check", "s.parquet"], ["update", "index", "c.jsonl"]):
        assert main(arguments) == 0
        out, err = capfd.readouterr()
        assert "did you mean where?" in err if arguments[0] == "update" else "field team: ignored" in out + err
