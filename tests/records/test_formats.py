"""A format is a row of a table: one more is read and written everywhere, and the documents list what the table has."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.pipeline import read_pipeline
from tocsin.records.chunks import Chunk, ObjectChunk
from tocsin.records.csv_files import read_csv
from tocsin.records.files import PACKED
from tocsin.records.formats import FORMATS, Format, ReadOptions

ROOT = Path(__file__).parents[2]
SUBSCRIPTIONS = 'id\twhere\na\tn > 1\nb\tn > 2 AND city = "x, y"\n'.replace('"', "'")
EVENTS = "n\tcity\n1\tx, y\n2\tx, y\n3\tx, y\n"
EXPECTED = [(1, "a"), (2, "a"), (2, "b")]


@pytest.fixture
def tsv(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of texts between tabs, which is only read."""

    def read(path: str | Path, how: ReadOptions) -> Iterator[Chunk]:
        return read_csv(path, how.schema, delimiter="\t", as_text=how.as_text, names=how.names, choose=how.choose)

    row = Format("tsv", "TSV", (".tsv", ".tab"), read, is_untyped=True, is_packed_outside=True)
    monkeypatch.setitem(FORMATS, "tsv", row)


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of objects, `n=3 city=x` a line, which is written, too."""

    def read(path: str | Path, _: ReadOptions) -> Iterator[Chunk]:
        lines = Path(path).read_text().splitlines()
        objects = [dict(pair.split("=", 1) for pair in line.split(";")) for line in lines]
        typed = [{name: int(value) if value.isdigit() else value for name, value in one.items()} for one in objects]
        yield ObjectChunk(list(enumerate(typed)), done=1.0)

    class Sink:
        def __init__(self, stream: Any, _: pa.Schema) -> None:
            self._stream = stream

        def write(self, table: pa.Table) -> None:
            for one in table.to_pylist():
                self._stream.write(";".join(f"{name}={value}" for name, value in one.items()).encode() + b"\n")

        def close(self) -> None: ...

    monkeypatch.setitem(FORMATS, "pairs", Format("pairs", "pairs", (".pairs",), read, Sink))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tsv: None) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.tsv").write_text(SUBSCRIPTIONS)
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "e.tab").write_text(EVENTS)
    (tmp_path / "e.tsv.gz").write_bytes(gzip.compress(EVENTS.encode()))
    return tmp_path


def matches(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


@pytest.mark.parametrize("events", ["events/e.tab", "e.tsv.gz", "events", "events/*.tab", ["events/e.tab"]])
def test_a_row_is_read_by_the_library(folder: Path, events: Any) -> None:
    """Files by their endings, packed ones, folders, patterns and lists; subscriptions and events."""
    assert matches(tocsin.match("s.tsv", events)) == EXPECTED
    engine = tocsin.Engine()
    engine.subscribe_many("s.tsv")
    assert matches(engine.match_batch(events, schema={"n": "number"})) == EXPECTED


def test_a_row_is_read_by_commands(folder: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the ending, by `--format`, from standard input; where it is only read that is said."""
    Path("plain").write_text(EVENTS)
    for arguments in (["e.tsv.gz"], ["plain", "--format", "tsv"], ["-", "--format", "tsv"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(EVENTS.encode())))
        assert main(["match", "s.tsv", *arguments, "--out", "out.jsonl"]) == 0
        rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
        assert [(row["event"], row["subscription"]) for row in rows] == EXPECTED
    capfd.readouterr()

    assert main(["match", "s.tsv", "e.tsv.gz", "--out", "out.tsv"]) == 2
    assert "TSV is only read; write JSON lines, CSV, Parquet or Arrow" in capfd.readouterr().err
    assert main(["match", "s.tsv", "plain"]) == 2
    told = capfd.readouterr().err
    assert ".ipc, .tsv, .tab, or - for JSON lines" in told
    assert "--format json|csv|parquet|arrow|tsv" in told
    with pytest.raises(SystemExit):
        main(["match", "--help"])
    told = capfd.readouterr().out
    assert "--format {json,csv,parquet,arrow,tsv}" in told
    assert "--out-format {json,csv,parquet,arrow}" in told


def test_a_row_of_objects_is_read_and_written(tmp_path: Path, pairs: None) -> None:
    """Without columns there is no delimiter, and what comes out can be read again."""
    subscriptions, events, out = (tmp_path / f"{name}.pairs" for name in ("s", "e", "out"))
    subscriptions.write_text("id=a;where=n > 1\nid=b;where=n > 2\n")
    events.write_text("n=1\nn=2\nn=3\n")

    assert main(["match", str(subscriptions), str(events), "--out", str(out)]) == 0

    assert out.read_text() == "event=1;subscription=a\nevent=2;subscription=a\nevent=2;subscription=b\n"
    assert matches(tocsin.match([{"id": "x", "where": "event = 2 AND subscription = 'b'"}], out)) == [(2, "x")]
    with pytest.raises(tocsin.InvalidInput, match="a delimiter is for CSV files"):
        tocsin.match(subscriptions, events, delimiter=";")
    packed = tmp_path / "e.pairs.gz"
    packed.write_bytes(gzip.compress(events.read_bytes()))
    with pytest.raises(
        tocsin.InvalidInput, match="JSON lines and CSV may be compressed from outside; pairs files compress themselves"
    ):
        tocsin.match(subscriptions, packed)


PIPELINE = """
[events]
kind = "files"
path = "events"
format = "tsv"
schema = "n bigint, city string"
[subscriptions]
index = "index"
path = "s.tsv"
[subscriptions.changes]
kind = "files"
path = "changes"
format = "tsv"
schema = "id string, change string, version bigint, where string"
[sink]
kind = "files"
path = "matches"
format = "json"
[run]
checkpoint = "checkpoint"
"""


def test_a_row_may_stand_in_the_file_of_a_pipeline(folder: Path) -> None:
    """What it needs, and what is for it; it is written where Spark knows it."""
    path = folder / "pipeline.toml"
    path.write_text(PIPELINE)
    assert read_pipeline(path).events["format"] == "tsv"

    for old, new, words in (
        ('schema = "n bigint, city string"', "", "tsv needs a schema: columns with Spark's types"),
        ('format = "tsv"', 'format = "json"\nheader = true', "header is for csv or tsv"),
        ('format = "tsv"', 'format = "xml"', "format is 'xml'; it is one of json, csv, parquet, tsv"),
        ('"matches"\nformat = "json"', '"matches"\nformat = "tsv"', "'tsv'; it is one of json, csv, parquet"),
    ):
        path.write_text(PIPELINE.replace(old, new, 1))
        with pytest.raises(tocsin.InvalidInput, match=words):
            read_pipeline(path)


@pytest.mark.spark
def test_a_row_is_read_by_a_pipeline(spark: Any, folder: Path) -> None:
    """Events and changes, by workers that know the row alone."""
    from tocsin.pipeline.running import run

    (folder / "changes").mkdir()
    (folder / "changes" / "1.tsv").write_text("id\tchange\tversion\twhere\nc\tinsert\t1\tn = 1\n")
    (folder / "pipeline.toml").write_text(PIPELINE)

    run(read_pipeline(folder / "pipeline.toml"), once=True)

    lines = [json.loads(line) for file in (folder / "matches").glob("*/*.json") for line in file.open()]
    found = {row["n"]: [match["subscription"] for match in row["matches"]] for row in lines}
    assert found == {1: ["c"], 2: ["a"], 3: ["a", "b"]}


def test_documents_list_the_formats() -> None:
    """Endings, the words of the command line, and those of pipelines: all of them, and no others."""
    sources = (ROOT / "docs/sources.md").read_text("utf-8").split("\n## ")[0]
    told = {
        ending for line in sources.splitlines() if line.startswith("|") for ending in re.findall(r"`(\.\w+)`", line)
    }
    assert told == {*PACKED, *(ending for row in FORMATS.values() for ending in row.endings)}

    readme = (ROOT / "README.md").read_text("utf-8")
    (line,) = [line for line in readme.splitlines() if "unless `--format " in line]
    assert set(re.findall(r"`(?:--format )?(\w+)`", line)) == set(FORMATS)

    streamed = [word for word, row in FORMATS.items() if row.is_streamed]
    assert streamed == [word for word, row in FORMATS.items() if row.in_spark]
    pipelines = (ROOT / "docs/pipeline.md").read_text("utf-8")
    assert f"`format` ({', '.join(f'`{word}`' for word in streamed)})" in pipelines
    example = files("tocsin.pipeline").joinpath("example.toml").read_text("utf-8")
    commented = [line.split("#")[1] for line in example.splitlines() if re.match(r"format = .*#", line)]
    assert len(commented) == 2
    assert all(word in line for line in commented for word in streamed)
