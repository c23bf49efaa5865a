"""Messages name options as their reader gives them: on the command line with dashes, in Python as arguments."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.cli.options import as_option, points_of, schema_of

MESSAGES = [
    ([], "to read its texts so, pass --schema stock:number", "pass schema={'stock': 'number'}"),
    ([], "To read the column as text, pass --schema size:string.", "pass schema={'size': 'string'}."),
    ([], "--payload-columns team keeps it", "payload_columns=['team'] keeps it"),
    (["--payload-columns", "teem"], "--payload-columns teem: no subscription has it", "payload_columns=['teem']: no"),
    (["--schema", "siz:number"], "--schema siz:number: no subscription uses siz", "schema={'siz': 'number'}: no"),
    (
        ["--points", "at=lon:latt"],
        "--points at=lon:latt: no event has latt",
        "points={'at': ('lon', 'latt')}: no event has latt",
    ),
    (["--event-key", "skuu"], "--event-key skuu: no event has skuu", "event_key='skuu': no event has skuu"),
    (["--delimiter", "ab"], "--delimiter is 'ab'", "delimiter is 'ab'"),
    (["--threads", "0"], "--threads is 0; it must be an integer of at least 1\n", "threads is 0; it must be an"),
    (["--payload-columns", "score"], "--payload-columns has 'score'", "payload_columns has 'score'"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    asked = ["size > 1", "stock > 5", "S_INTERSECTS(at, BBOX(0, 0, 1, 1))"]
    records = [{"id": n, "where": where, "team": "x"} for n, where in enumerate(asked)]
    Path("s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    Path("e.csv").write_text(
        "sku,size,siz,lon,lat,stock\n"
        + "a,2,1,0,0,7\n"
        + "a,2,1,0,0,many\n" * 2
        + "a,2,1,0,0,9\n" * 7
        + "a,L,1,0,0,few\n"
    )
    return tmp_path


def in_python(arguments: list[str]) -> str:
    """The messages of the same call in Python, a line each."""
    read: dict[str, Any] = {"--schema": schema_of, "--points": points_of, "--payload-columns": lambda text: [text]}
    name, value = [*arguments, "", ""][:2]
    value = int(value) if name == "--threads" else read.get(name, str)(value)
    options = {name.removeprefix("--").replace("-", "_"): value} if name else {}
    try:
        answer = tocsin.match("s.jsonl", "e.csv", **options)
    except tocsin.InvalidInput as error:
        return str(error)
    return "\n".join([*(reject.reason for reject in answer.errors), *map(str, answer.warnings)])


@pytest.mark.parametrize(("arguments", "on_line", "argument"), MESSAGES)
def test_options_are_spelled_for_the_reader(
    folder: Path, capfd: Any, arguments: list[str], on_line: str, argument: str
) -> None:
    """The command shows its own options; the same call of Python, afterwards, arguments."""
    main(["match", "s.jsonl", "e.csv", *arguments])
    shown = capfd.readouterr().err
    if on_line not in shown and "`" in shown:  # among the further warnings
        main(shlex.split(shown.split("`")[1])[1:])
        shown = "".join(capfd.readouterr())

    assert on_line in shown
    assert "={'" not in shown and "=['" not in shown
    assert argument in in_python(arguments)


@pytest.mark.parametrize(
    ("name", "value", "spelled"),
    [
        ("schema", {"a b": "number", "c": "text english stem"}, "--schema 'a b:number,c:text english stem'"),
        ("points", {"p": ("x", "y"), "q": ("u", "v")}, "--points p=x:y,q=u:v"),
        ("event_key", "it's", "--event-key 'it'\"'\"'s'"),
        ("payload_columns", ["a", "b"], "--payload-columns a,b"),
        ("statistics", None, "--sample"),
    ],
)
def test_an_option_can_be_copied(name: str, value: Any, spelled: str) -> None:
    """A shell reads it as one word, and the command as the value."""
    assert as_option(name, value) == spelled
    if isinstance(value, dict):
        read = {"schema": schema_of, "points": points_of}[name]
        assert read(shlex.split(spelled)[1]) == value
