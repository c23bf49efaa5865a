"""Files whose ending names no format, and standard input and output."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.errors import InvalidInput
from tocsin.records.formats import FORMATS, Formatted, format_of, input_format

TABLE = pa.table({"id": ["a", "b"], "where": ["n > 1", "n > 2"]})
EVENTS = pa.table({"n": [1, 2, 3]})
EXPECTED = [(1, "a"), (2, "a"), (2, "b")]


def written(table: pa.Table, word: str) -> bytes:
    """A table as a file of a format."""
    if word == "json":
        return "".join(json.dumps(record) + "\n" for record in table.to_pylist()).encode()
    sink = pa.BufferOutputStream()
    if word == "csv":
        arrow_csv.write_csv(table, sink)
    elif word == "parquet":
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
    return sink.getvalue().to_pybytes()


def read(data: bytes, word: str) -> list[tuple[int, str]]:
    """The matches of an answer in a format."""
    if word == "json":
        rows = [json.loads(line) for line in data.splitlines()]
    elif word == "csv":
        rows = arrow_csv.read_csv(io.BytesIO(data)).to_pylist()
    elif word == "parquet":
        rows = pq.read_table(io.BytesIO(data)).to_pylist()
    else:
        rows = pa.ipc.open_file(data).read_all().to_pylist()
    return [(row["event"], row["subscription"]) for row in rows]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stdin_of(data: bytes) -> Any:
    return io.TextIOWrapper(io.BytesIO(data))


@pytest.mark.parametrize("word", FORMATS)
def test_standard_streams_have_the_format_that_is_said(
    folder: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Events and subscriptions come from standard input, and matches go out, in every format."""
    (folder / "s.jsonl").write_bytes(written(TABLE, "json"))
    (folder / "e.jsonl").write_bytes(written(EVENTS, "json"))
    for arguments, table in ((["s.jsonl", "-"], EVENTS), (["-", "e.jsonl"], TABLE)):
        monkeypatch.setattr("sys.stdin", stdin_of(written(table, word)))
        assert main(["match", *arguments, "--format", word, "--out-format", word]) == 0
        assert read(capfdbinary.readouterr().out, word) == EXPECTED


@pytest.mark.parametrize("word", FORMATS)
def test_files_without_an_ending_have_the_format_that_is_said(folder: Path, word: str) -> None:
    """Files, patterns and folders of such; an ending that names a format counts for more."""
    Path("events").mkdir()
    Path("events/day1").write_bytes(written(EVENTS, word))
    Path("subscriptions").write_bytes(written(TABLE, word))
    Path("s.jsonl").write_bytes(written(TABLE, "json"))

    for subscriptions in ("subscriptions", "s.jsonl"):
        for events in ("events/day1", "events/day*", "events"):
            arguments = ["match", subscriptions, events, "--format", word, "--out", "out", "--out-format", word]
            assert main(arguments) == 0
            assert read(Path("out").read_bytes(), word) == EXPECTED
    assert main(["check", "subscriptions", "--format", word, "--sample", "events/day1"]) == 0
    assert main(["compile", "subscriptions", "index", "--format", word]) == 0
    assert main(["explain", "subscriptions", "events/day1", "--id", "a", "--format", word]) == 0


def test_an_unknown_ending_is_refused_and_says_what_helps(folder: Path, capfd: Any) -> None:
    """Without a format; and a word that stands for no format is refused."""
    Path("events").write_bytes(written(EVENTS, "csv"))

    assert main(["match", "events", "events"]) == 2
    assert "--format json|csv|parquet|arrow" in capfd.readouterr().err
    with pytest.raises(InvalidInput, match="it is one of json, csv, parquet, arrow"):
        Formatted("events", "xml")
    assert tocsin.match(TABLE, Formatted("events", "csv")).table.num_rows == len(EXPECTED)


def test_packed_files_say_their_format_too() -> None:
    """A packed file without a second ending has the format that is said."""
    assert input_format(Formatted("events.gz", "csv")).word == "csv"
    assert input_format(Formatted("events.jsonl.gz", "csv")).word == "json"
    assert format_of(Formatted("-", "arrow")).word == "arrow"
