"""The command at the edge: explanations agree with matches, output is whole, and failures are told in words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tests import fork_server
from tests.waiting import HANG_S
from tocsin.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one subscription in s.jsonl, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.jsonl").write_text('{"id": "a", "where": "n = 1"}\n')
    return tmp_path


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", fork_server.shell(command)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def pairs(answer: tocsin.Answer) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


def test_explain_shows_the_row_that_match_means(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain --row N` takes the N of `match`, which counts rejected rows too."""
    (folder / "e.csv").write_text("n,s\n0,a\n0,1,2\n1,c\n0,d\n5,e\n")

    assert main(["explain", "s.jsonl", "e.csv", "--row", "2"]) == 0
    assert "does not match" not in capsys.readouterr().out
    assert main(["explain", "s.jsonl", "e.csv", "--row", "4"]) == 0


def test_explain_of_a_misfit_agrees_with_match(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To both a value that does not fit its column is present."""
    (folder / "s.jsonl").write_text('{"id": "null", "where": "n IS NULL"}\n')
    (folder / "e.csv").write_text("n,s\n" + "1,aaaaaaaaaaaaaaaaaaaaaaaa\n" * 60_000 + "abc,x\n")
    assert pairs(tocsin.match("s.jsonl", "e.csv")) == []

    main(["explain", "s.jsonl", "e.csv", "--row", "60000"])

    assert "does not match" in capsys.readouterr().out


def test_explain_of_a_map_agrees_with_match(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To both the keys of a map are attributes."""
    (folder / "s.jsonl").write_text('{"id": "p", "where": "m.k = 1"}\n')
    pq.write_table(pa.table({"m": pa.array([[("k", 1.0)]], pa.map_(pa.string(), pa.float64()))}), folder / "e.parquet")
    assert pairs(tocsin.match("s.jsonl", "e.parquet")) == [(0, "p")]

    main(["explain", "s.jsonl", "e.parquet"])

    assert "does not match" not in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_no_events_write_a_readable_file(ending: str, folder: Path) -> None:
    """A source without events gives a file with the columns of an answer and no rows."""
    (folder / "e.csv").write_text("n,s\n")
    assert main(["match", "s.jsonl", "e.csv", "--out", f"out.{ending}"]) == 0

    assert (folder / f"out.{ending}").stat().st_size > 0
    assert tocsin.match([{"id": "x", "where": "event = 1"}], f"out.{ending}").stats.events == 0


def test_an_output_that_is_a_folder_leaves_nothing(folder: Path) -> None:
    """A folder in the place of the output is refused, and no part of a file is left beside it."""
    (folder / "out.jsonl").mkdir()

    assert main(["match", "s.jsonl", "s.jsonl", "--out", "out.jsonl"]) == 2
    assert not list(folder.glob("*.part"))


def test_rejects_with_half_a_surrogate_pair_are_written(folder: Path) -> None:
    """`--errors FILE` takes any id, half a surrogate pair as its escape."""
    (folder / "s.jsonl").write_text('{"id": "\\ud800", "where": "n = 1"}\n{"id": "a", "where": "n = 1"}\n')

    assert main(["match", "s.jsonl", "s.jsonl", "--errors", "errors.jsonl"]) == 1
    assert '"id": "\\ud800"' in (folder / "errors.jsonl").read_text()


def test_two_standard_inputs_of_explain_are_refused(folder: Path) -> None:
    """Only one of the two sources of `explain` can be standard input."""
    done = shell("tocsin explain - - < s.jsonl", folder)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["index list >&-", "match s.jsonl - <&-"], ids=["output", "input"])
def test_a_closed_standard_stream_causes_no_traceback(arguments: str, folder: Path) -> None:
    """A command whose standard input or output is closed ends without a traceback."""
    done = shell(f"tocsin {arguments}", folder)

    assert "Traceback" not in done.stderr


def test_unbuffered_output_is_whole_or_an_error(folder: Path) -> None:
    """With PYTHONUNBUFFERED=1 too, the status is 0 only when every match was written."""
    (folder / "e.jsonl").write_text('{"n": 1}\n' * 200_000)
    limit = 1000  # blocks of 1 KiB: the write in which the limit falls is short, as on a full disk

    done = shell(
        f"trap '' XFSZ; ulimit -f {limit}; tocsin match s.jsonl e.jsonl > out.jsonl", folder, PYTHONUNBUFFERED="1"
    )

    assert done.returncode != 0 or (folder / "out.jsonl").read_text().count("\n") == 200_000
