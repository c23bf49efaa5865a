"""`tocsin fences` on a stream warns as on a file: of the first odd event at once, of all at the end."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tocsin.cli import course
from tocsin.cli.main import main

EVENTS: list[dict[str, Any]] = [
    {"v": "a", "t": 10, "loc": [1, 1]},
    {"v": "a", "t": 5, "loc": [1, 1]},
    {"v": "b", "t": "soon", "loc": [1, 1]},
    {"v": "a", "t": 6, "loc": [1, 1]},
    {"v": "a", "t": 20, "loc": [1, 1]},
]
LATE = "ignored: older than the latest event of the same object"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"id": "zone", "where": "S_INTERSECTS(loc, BBOX(0, 0, 9, 9))"}\n')
    Path("e.jsonl").write_text("".join(json.dumps(one) + "\n" for one in EVENTS))
    monkeypatch.setattr(course, "_MOST_TOGETHER", 1)


def told(source: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, *options: str) -> list[str]:
    """Standard error of a run, without the summary, after checking that the output has nothing but changes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("e.jsonl").read_bytes())))
    main(["fences", "s.jsonl", source, "--key", "v", *options])
    out, err = capsys.readouterr()
    assert all("change" in json.loads(line) for line in out.splitlines())
    return [line for line in err.splitlines() if "object inside" not in line and "objects inside" not in line]


def test_odd_events_are_told_at_once_and_counted_at_the_end(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Rows are those of the stream. What has not changed since is not repeated. A file has the warnings of the end."""
    of_file = told("e.jsonl", monkeypatch, capsys, "--time", "t")
    of_stream = told("-", monkeypatch, capsys, "--time", "t")

    unread = "warning: --time t: 1 event (row 2) with unreadable times, treated as without a time"
    assert of_file == [unread, f"warning: --time t: 2 events (rows 1, 3) {LATE}"]
    assert of_stream == [f"warning: --time t: 1 event (row 1) {LATE}", *of_file]
    assert told("-", monkeypatch, capsys, "--time", "t", "--no-warnings") == []


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (["--time", "T"], "--time T: no event has T; did you mean t? Times in seconds are unknown"),
        (["--event-key", "V"], "--event-key V: no event has V; did you mean v?"),
        (["--path", "Loc"], "--path Loc: no subscription uses Loc; did you mean loc?"),
        (["--points", "loc=T:t"], "--points loc=T:t: no event has T; did you mean t?"),
        (["--time", "when"], "--time when: no event has when, so that times in seconds are unknown"),
    ],
)
def test_names_that_no_event_has_are_told(
    options: list[str], warning: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Once; with the first event, if there is a name that may be meant."""
    if "--points" in options:
        Path("e.jsonl").write_text('{"v": "a", "t": 1}\n' * 3)
    for source in ("e.jsonl", "-"):
        lines = told(source, monkeypatch, capsys, *options)
        assert lines.count(f"warning: {warning}") == 1, lines


def test_a_name_that_comes_later_is_not_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The warnings of the end are about the whole stream."""
    Path("e.jsonl").write_text('{"v": "a", "loc": [1, 1]}\n{"v": "a", "loc": [1, 1], "when": 5, "id": 1}\n')

    assert told("-", monkeypatch, capsys, "--time", "when", "--event-key", "id") == []
