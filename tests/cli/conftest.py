"""Fixtures of the commands' tests: kernels that count as compiled ahead, as after `tocsin warm`; and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import EVENTS, SUBSCRIPTIONS, lines
from tocsin.cli import check, explaining


@pytest.fixture(autouse=True)
def _warmed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (check, explaining):
        monkeypatch.setattr(module, "has_all", lambda: True)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with subs.jsonl, bad.jsonl and events.jsonl, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "subs.jsonl", SUBSCRIPTIONS)
    lines(tmp_path / "bad.jsonl", [{"id": "x", "where": "n = AND"}, *SUBSCRIPTIONS, {"id": "a", "where": "n = 1"}])
    lines(tmp_path / "events.jsonl", EVENTS)
    lines(tmp_path / "events.txt", EVENTS)
    return tmp_path
