"""Matches written to a file, in every format, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tests.waiting import HANG_S
from tocsin.cli.main import main

SUBSCRIPTIONS = [
    {"id": name, "where": "n >= 1", "score": 2} for name in ("a", 'quote" and, comma', "line\nbreak", "é😀")
]
READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "jsonl": lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]],
    "ndjson": lambda path: pl.read_ndjson(path).to_dicts(),
    "json": lambda path: pd.read_json(path, lines=True).to_dict("records"),
    "csv": lambda path: pd.read_csv(path).to_dict("records"),
    "parquet": lambda path: pq.read_table(path).to_pylist(),
    "pq": lambda path: pl.read_parquet(path).to_dicts(),
    "arrow": lambda path: pa.ipc.open_file(path).read_all().to_pylist(),
    "feather": lambda path: pl.read_ipc(path).to_dicts(),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text("".join(json.dumps(s) + "\n" for s in SUBSCRIPTIONS))
    Path("e.jsonl").write_text('{"n": 1}\n{"n": 0}\n{"n": 2}\n')
    return tmp_path


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", READERS)
def test_every_format_reads_back(ending: str, folder: Path) -> None:
    """What other programs read from the file is the answer's table; nothing else is left beside it."""
    assert main(["match", "s.jsonl", "e.jsonl", "--top", "3", "--out", f"out.{ending}"]) == 0

    expected = tocsin.match("s.jsonl", "e.jsonl", ranking=tocsin.Top(3)).table.to_pylist()
    assert READERS[ending](folder / f"out.{ending}") == expected
    assert listing(folder) == ["e.jsonl", f"out.{ending}", "s.jsonl"]


@pytest.mark.parametrize("ending", [ending for ending in READERS if ending != "csv"])
def test_lists_read_back(ending: str, folder: Path) -> None:
    """Lists are lists in every format that has them."""
    assert main(["match", "s.jsonl", "e.jsonl", "--lists", "--out", f"out.{ending}"]) == 0

    expected = tocsin.match("s.jsonl", "e.jsonl", lists=True).table.to_pylist()
    assert READERS[ending](folder / f"out.{ending}") == expected


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "arrow"])
def test_what_is_written_can_be_read_as_events_again(ending: str, folder: Path) -> None:
    """tocsin reads what tocsin writes, through several chunks."""
    Path("many.jsonl").write_text('{"n": 1}\n' * 20_000)
    assert main(["match", "s.jsonl", "many.jsonl", "--out", f"out.{ending}"]) == 0

    answer = tocsin.match([{"id": "x", "where": "event = 19999 AND subscription = 'a'"}], f"out.{ending}")

    assert answer.stats.events == 80_000
    assert len(answer) == 1


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "arrow"])
def test_no_match_is_a_file_without_rows(ending: str, folder: Path) -> None:
    """Where nothing matched the file is there, with its columns, and empty."""
    Path("e.jsonl").write_text('{"n": 0}\n')
    assert main(["match", "s.jsonl", "e.jsonl", "--out", f"out.{ending}"]) == 0

    if ending == "csv":
        assert Path("out.csv").read_text().strip() == '"event","subscription"'
    else:
        assert READERS[ending](folder / f"out.{ending}") == []


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "arrow"])
def test_a_run_that_fails_leaves_the_file_before(ending: str, folder: Path) -> None:
    """When a later chunk fails, the output of an earlier run stays as it was, and nothing half-written remains."""
    Path(f"out.{ending}").write_text("from before")
    Path("many.jsonl").write_text('{"n": 1}\n' * 20_000 + "bad\n")
    before = listing(folder)

    assert main(["match", "s.jsonl", "many.jsonl", "--strict", "--out", f"out.{ending}"]) == 2

    assert Path(f"out.{ending}").read_text() == "from before"
    assert listing(folder) == before


def test_a_run_that_is_interrupted_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Ctrl-C in the middle ends with 130 and one line, without an output file."""
    from tocsin.records.json_lines import JsonLinesSink

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(JsonLinesSink, "write", interrupted)
    before = listing(folder)

    assert main(["match", "s.jsonl", "e.jsonl", "--out", "out.jsonl"]) == 130

    assert listing(folder) == before
    assert capsys.readouterr().err.count("\n") == 1


def test_output_is_replaced_at_once(folder: Path) -> None:
    """A second run replaces the first one's file, in whatever length."""
    assert main(["match", "s.jsonl", "e.jsonl", "--out", "out.jsonl"]) == 0
    long = Path("out.jsonl").read_text()
    Path("e.jsonl").write_text('{"n": 1}\n')
    assert main(["match", "s.jsonl", "e.jsonl", "--out", "out.jsonl"]) == 0

    assert long.startswith(Path("out.jsonl").read_text())
    assert len(Path("out.jsonl").read_text()) < len(long)


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "s.jsonl", "e.jsonl", "--errors", "e.jsonl"],
        ["match", "s.jsonl", "e.jsonl", "--errors", "./s.jsonl"],
        ["match", "s.jsonl", "e.jsonl", "--out", "e.jsonl"],
        ["match", "s.jsonl", "e.jsonl", "--out", "o.jsonl", "--errors", "o.jsonl"],
        ["compile", "s.jsonl", "index", "--errors", "s.jsonl"],
        ["compile", "s.jsonl", "e.jsonl"],
    ],
)
def test_no_output_overwrites_what_is_read_or_written(arguments, tmp_path, monkeypatch, capsys):
    """The command refuses in one line, and every file is as it was."""
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"id": "a", "where": "n = 1"}\n')
    Path("e.jsonl").write_text('{"n": 1}\n')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    status = main(arguments)

    assert status == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_link_stays_a_link(folder: Path) -> None:
    """What it leads to is written."""
    Path("target.jsonl").write_text("before")
    Path("link.jsonl").symlink_to("target.jsonl")

    assert main(["match", "s.jsonl", "e.jsonl", "--out", "link.jsonl"]) == 0

    assert Path("link.jsonl").is_symlink()
    assert len(READERS["jsonl"](Path("target.jsonl"))) == 8


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to(folder: Path) -> None:
    """And is not replaced by a file; so is a device."""
    os.mkfifo("pipe.jsonl")
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(lambda: READERS["jsonl"](Path("pipe.jsonl")))
        assert main(["match", "s.jsonl", "e.jsonl", "--out", "pipe.jsonl"]) == 0
        assert len(reading.result(timeout=HANG_S)) == 8

    assert Path("pipe.jsonl").is_fifo()
