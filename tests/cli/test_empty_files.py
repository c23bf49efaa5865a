"""A CSV file without a header is warned of; other files may be empty."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import run

COMMANDS = {
    "events of match": (["match", "subs.jsonl", "{}"], 0),
    "subscriptions of match": (["match", "{}", "events.jsonl"], 0),
    "events of fences": (["fences", "subs.jsonl", "{}", "--key", "n"], 0),
    "subscriptions of fences": (["fences", "{}", "events.jsonl", "--key", "n"], 1),
    "check": (["check", "{}"], 0),
    "compile": (["compile", "{}", "index"], 0),
    "compile into an engine": (["compile", "{}", "--into", "kept"], 0),
    "a plan": (["compile", "{}", "--plan"], 0),
    "update": (["update", "index", "{}"], 0),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_csv_file_without_a_header_is_warned_of(what: str, files: Path, capfd: Any) -> None:
    """It has no bad record, so the status is that of the other file; once, by every command, and compressed, too."""
    arguments, expected = COMMANDS[what]
    Path("e.csv").write_bytes(b"")
    Path("e.csv.gz").write_bytes(gzip.compress(b"\n\n"))

    for name in ("e.csv", "e.csv.gz"):
        status, _, err = run(capfd, *(one.format(name) for one in arguments))
        assert status == expected
        assert err.count(f"warning: {name} is empty; a CSV file begins with the names of its columns\n") == 1


@pytest.mark.parametrize(("name", "text"), [("e.csv", "n,s\n"), ("e.jsonl", ""), ("e.csv", "n\n1\n")])
def test_other_files_are_not(name: str, text: str, files: Path, capfd: Any) -> None:
    """A header alone, and JSON lines, say that there are no events."""
    Path(name).write_text(text)

    assert "is empty" not in run(capfd, "match", "subs.jsonl", name)[2]
