"""`tocsin fences` takes events in batches: what has arrived together, and the pieces of a file."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests import fork_server
from tests.waiting import HANG_S
from tocsin.cli import course
from tocsin.cli.main import main

EVENTS = [{"v": row, "x": 9} for row in range(9)]
OPTIONS = ["--key", "v"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"id": "zone", "where": "x > 5"}\n')
    Path("e.jsonl").write_bytes(lines_of(EVENTS))


def lines_of(events: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in events).encode()


def records(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def piped(monkeypatch: pytest.MonkeyPatch, events: list[dict[str, Any]]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines_of(events))))


def signalling(monkeypatch: pytest.MonkeyPatch, at: int) -> list[int]:
    """Let a request to terminate come while the fences process batch `at`; the result lists the batches' sizes."""
    sizes: list[int] = []
    push = tocsin.Fences.push_batch

    def pushed(*given: Any, **options: Any) -> tocsin.Answer:
        answer = push(*given, **options)
        sizes.append(answer.stats.events)
        if len(sizes) == at:
            signal.raise_signal(signal.SIGTERM)
        return answer

    monkeypatch.setattr(tocsin.Fences, "push_batch", pushed)
    return sizes


@pytest.mark.parametrize("source", ["-", "e.jsonl"])
def test_events_that_are_there_are_one_batch(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of at most so many; rows and errors are those of the whole source."""
    monkeypatch.setattr(course, "_MOST_TOGETHER", 4)
    events: list[dict[str, Any]] = [*EVENTS, {"x": 9}]
    Path("e.jsonl").write_bytes(lines_of(events))
    piped(monkeypatch, events)
    sizes = signalling(monkeypatch, at=-1)

    assert main(["fences", "s.jsonl", source, *OPTIONS, "--out", "c.jsonl", "--errors", "r.jsonl"]) == 1

    assert sizes == [4, 4, 2]
    assert [one["event"] for one in records("c.jsonl")] == list(range(9))
    assert [one["row"] for one in records("r.jsonl")] == [9]


def test_a_lone_line_is_answered_before_the_next_one_comes() -> None:
    """Also while a part of the next one is there."""
    command = [*fork_server.python(), "-m", "tocsin", "fences", "s.jsonl", "-", *OPTIONS]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdin is not None and process.stdout is not None
    for x in (9, 1, 9):
        process.stdin.write(lines_of([{"v": "a", "x": x}]) + b'{"v": "a"')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["change"] == ("enter" if x == 9 else "exit")
        process.stdin.write(b"}\n")

    process.stdin.close()
    assert process.wait(HANG_S) == 0


def test_lines_are_numbered_through(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """An error names the line of the stream, as in a file."""
    monkeypatch.setattr(course, "_MOST_TOGETHER", 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines_of(EVENTS[:2]) + b"{oops\n")))

    assert main(["fences", "s.jsonl", "-", *OPTIONS, "--out", "c.jsonl"]) == 1
    assert "event 2: line 3: invalid JSON" in capsys.readouterr().err


def test_a_file_is_stopped_between_two_batches(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """As a stream is: the changes so far are written, and the state is that after them."""
    monkeypatch.setattr(course, "_MOST_TOGETHER", 2)
    sizes = signalling(monkeypatch, at=2)

    assert main(["fences", "s.jsonl", "e.jsonl", *OPTIONS, "--out", "c.jsonl", "--state", "f.jsonl"]) == 143

    told = capsys.readouterr().err.splitlines()
    assert sizes == [2, 2] and len(Path("c.jsonl").read_text().splitlines()) == 4
    assert told[-1] == "stopped; 4 changes written, state saved in f.jsonl"
    assert "4 changes of 4 events and 1 subscription" in told[-2]
    engine = tocsin.Engine()
    engine.subscribe("zone", "x > 5")
    assert sorted(dict(tocsin.Fences.load("f.jsonl", engine).objects())) == [0, 1, 2, 3]


def test_a_file_that_is_sorted_is_stopped_at_once(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """It is one batch, so nothing of it counts, and the state stays as it was."""
    options = [*OPTIONS, "--time", "v", "--order", "time", "--state", "f.jsonl"]
    assert main(["fences", "s.jsonl", "e.jsonl", *options, "--out", "c.jsonl"]) == 0
    before = Path("f.jsonl").read_text()
    signalling(monkeypatch, at=1)

    assert main(["fences", "s.jsonl", "e.jsonl", *options, "--out", "c.jsonl"]) == 143

    assert capsys.readouterr().err.splitlines()[-1] == "stopped; 0 changes written"
    assert Path("f.jsonl").read_text() == before


def test_a_file_without_events_has_columns() -> None:
    """Its changes are a table, too."""
    Path("e.jsonl").write_text("")
    assert main(["fences", "s.jsonl", "e.jsonl", *OPTIONS, "--out", "c.csv"]) == 0
    assert Path("c.csv").read_text() == '"event","object","subscription","change","seconds"\n'


@pytest.mark.parametrize("source", ["-", "e.jsonl"])
def test_an_event_with_an_unreadable_value_is_served(source: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The error says so, the event counts, and the status is 0."""
    events = [{"v": "a", "x": 9, "y": "many"}, {"v": "b", "x": "few", "y": 9}]
    Path("e.jsonl").write_bytes(lines_of(events))
    Path("s.jsonl").write_text('{"id": "zone", "where": "x > 5 OR y > 5"}\n')
    options = [*OPTIONS, "--schema", "x:number,y:number"]
    for errors in ([], ["--errors", "r.jsonl"]):
        piped(monkeypatch, events)
        assert main(["fences", "s.jsonl", source, *options, "--out", "c.jsonl", *errors]) == 0

        told = capsys.readouterr().err
        assert ("warning: event 0 (a): y: 'many'" in told) is (not errors)
        assert "2 changes of 2 events and 1 subscription, 0 rejected, 2 values not read; 2 objects inside" in told
    assert [one["served"] for one in records("r.jsonl")] == [True, True]


def test_an_unreadable_key_is_told_once(capsys: Any) -> None:
    """With the reason why it could not be read; the event is not served."""
    Path("e.csv").write_text("v,x\n" + "".join(f"{row},9\n" for row in range(30)) + "A7,9\n")

    assert main(["fences", "s.jsonl", "e.csv", *OPTIONS, "--out", "c.jsonl", "--errors", "r.jsonl"]) == 1

    (error,) = records("r.jsonl")
    assert (error["row"], error["served"]) == (30, False)
    assert error["reason"].endswith("To read the column as text, pass --schema v:string.")
