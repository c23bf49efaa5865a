"""Folders with other files: no index is written there, and the subscriptions are not read as events."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import run

WRITING = {
    "compile": ["compile", "subs.jsonl", "{}"],
    "compile into an engine": ["compile", "subs.jsonl", "--into", "{}"],
    "update": ["update", "{}", "changes.jsonl"],
}


@pytest.fixture
def changes(files: Path) -> Path:
    Path("changes.jsonl").write_text('{"id": "a", "change": "insert", "version": 1, "where": "n = 1"}\n')
    return files


@pytest.mark.parametrize("what", WRITING)
def test_an_index_needs_a_folder_of_its_own(what: str, changes: Path, capfd: Any) -> None:
    """A folder with other files is refused and left as it is."""
    before = sorted(changes.rglob("*"))

    status, _, err = run(capfd, *(one.format(".") for one in WRITING[what]))

    assert status == 2
    assert err.endswith(": . has other files, such as bad.jsonl; name a new folder for the index\n")
    assert sorted(changes.rglob("*")) == before


@pytest.mark.parametrize("what", WRITING)
def test_an_empty_folder_and_an_index_are_written(what: str, changes: Path, capfd: Any) -> None:
    """Hidden files, and files that were put beside an index later, do not matter."""
    arguments = [one.format("index") for one in WRITING[what]]
    Path("index").mkdir()
    Path("index/.gitignore").write_text("*")

    assert run(capfd, *arguments)[0] == 0
    Path("index/notes.txt").write_text("mine")
    assert "other files" not in run(capfd, *arguments)[2]
    assert Path("index/notes.txt").read_text() == "mine"


def test_what_an_interrupted_compilation_left_is_written_again(changes: Path, capfd: Any) -> None:
    """A version that no manifest names."""
    assert run(capfd, "compile", "subs.jsonl", "index")[0] == 0
    Path("index/manifest.json").unlink()

    assert run(capfd, "compile", "subs.jsonl", "index")[0] == 0


READING = {
    "match": ["match", "{0}", "{1}"],
    "fences": ["fences", "{0}", "{1}", "--key", "n"],
    "explain": ["explain", "{0}", "{1}", "--id", "a"],
    "check": ["check", "{0}", "--sample", "{1}"],
    "compile": ["compile", "{0}", "new", "--sample", "{1}"],
}


@pytest.mark.parametrize("what", READING)
@pytest.mark.parametrize(("subscriptions", "events"), [("subs.jsonl", "."), ("./subs.jsonl", "*s.jsonl")])
def test_subscriptions_are_not_read_as_events(
    what: str, subscriptions: str, events: str, files: Path, capfd: Any
) -> None:
    """In a folder of events, or a pattern that fits both."""
    status, out, err = run(capfd, *(one.format(subscriptions, events) for one in READING[what]))

    assert (status, out) == (2, "")
    told = f"the events {events} include the subscriptions, {subscriptions}; name the events alone\n"
    assert err == f"tocsin {what.split()[0]}: {told}"


def test_an_index_is_not_read_as_events(files: Path, capfd: Any) -> None:
    """Its manifest has the ending of JSON. A folder of events beside it is read."""
    run(capfd, "compile", "subs.jsonl", "index")
    Path("events").mkdir()
    shutil.move("events.jsonl", "events")

    assert "include the subscriptions, index;" in run(capfd, "match", "index", ".")[2]
    assert "of 3 events" in run(capfd, "match", "index", "events")[2]
