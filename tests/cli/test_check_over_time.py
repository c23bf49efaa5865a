"""tocsin check of conditions over several events: attributes, and what no event of a sample has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.test_check_samples import run
from tocsin.cli.main import main

SUBSCRIPTIONS = [
    {"id": "typo", "where": "COUNT(typ = 'login' AND SINCE(zon = 5) < 5, 'PT1M') > 3"},
    {"id": "sum", "where": "SUM(amont, type = 'login', 'PT1M') > 3", "by": ["hots"]},
    {"id": "type", "where": "PREVIOUS(type, ok = 'no') = 'login'"},
    {"id": "right", "where": "COUNT_DISTINCT(amount, zone = 5 AND PREVIOUS(ok) = TRUE, 'PT1M') > 3", "by": ["host"]},
]
EVENT = {"type": "login", "ok": True, "amount": 5, "host": "h", "zone": 5}
WARNINGS = {
    "by=hots: no event has hots; did you mean host?",
    "SUM(amont, type = 'login', 'PT1M'): no event has amont; did you mean amount?",
    "typ = 'login': no event has typ; did you mean type?",
    "zon = 5: no event has zon; did you mean zone?",
    "ok = 'no': every ok that came is a boolean, never a text",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("subs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in SUBSCRIPTIONS))
    Path("events.jsonl").write_text(json.dumps(EVENT) + "\n")
    assert main(["compile", "subs.jsonl", "index"]) == 0
    return tmp_path


@pytest.mark.parametrize("source", ["subs.jsonl", "index"])
def test_what_no_event_has_is_warned_of(folder: Path, capfd: Any, source: str) -> None:
    """Inside of functions at every depth, of their attributes, and of keys."""
    status, out, _ = run(capfd, "check", source, "--sample", "events.jsonl")

    found = [line.removeprefix("warning: ") for line in out.splitlines() if line.startswith("warning: ")]
    assert (status, set(found), len(found)) == (0, WARNINGS, len(WARNINGS))
    assert "9 attributes: typ, zon, hots, amont, type, ok, host, amount, zone" in out


def test_an_expression_has_the_attributes_of_all_events(capfd: Any) -> None:
    status, out, err = run(capfd, "check", "-e", "a = 1 AND COUNT(b = 1 AND PREVIOUS(c) = 2, 'PT0S') > 1")

    assert (status, out.splitlines()[1]) == (0, "attributes: a, b, c")
    assert "its span is 0" in err


def test_a_monitor_warns_of_the_same_attributes() -> None:
    engine = tocsin.Engine()
    engine.subscribe_many(SUBSCRIPTIONS)
    answer = tocsin.Monitor(engine, key="host").push_batch([EVENT])

    assert {str(one) for one in answer.warnings} == {one for one in WARNINGS if not one.startswith("by=")}
