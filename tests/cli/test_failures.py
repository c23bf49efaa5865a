"""A command of which nothing could be read fails, says why, and still writes down what was wrong with each record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tocsin.cli.main import FAILED, main

SUBSCRIPTION = '{"id": "a", "where": "price > 3"}\n'


@pytest.mark.parametrize(
    ("subscriptions", "events", "what"),
    [('{"id": "a", "query": "x"}\n', '{"price": 5}\n', "subscription"), (SUBSCRIPTION, "{bad\n", "event")],
)
def test_nothing_could_be_read(
    subscriptions: str, events: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.jsonl").write_text(subscriptions, "utf-8")
    (tmp_path / "e.jsonl").write_text(events, "utf-8")
    errors = tmp_path / "errors.jsonl"

    status = main(["match", str(tmp_path / "s.jsonl"), str(tmp_path / "e.jsonl"), "--errors", str(errors)])

    assert status == FAILED
    assert f"tocsin match: no {what} could be read; {what} 0: " in capsys.readouterr().err
    assert [json.loads(line)["record"] for line in errors.read_text("utf-8").splitlines()] == [what]


def test_nothing_to_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.jsonl").write_text('{"id": "a", "where": "price >"}\n', "utf-8")

    assert main(["compile", str(tmp_path / "s.jsonl"), str(tmp_path / "index")]) == FAILED
    assert "no subscription could be read" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--similar", "2:0.5", "alpha is 2.0; it must be a number from 0 to 1"),
        ("--index", "vcr(lx=3)", "lx of vcr is 3; a side is a power of two"),
        ("--points", "location", "'location' is not NAME=X:Y"),
    ],
)
def test_a_bad_option_is_told_before_anything_is_read(
    option: str, value: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That there is no file of subscriptions would be told otherwise."""
    status = main(["match", str(tmp_path / "s.jsonl"), str(tmp_path / "e.jsonl"), option, value])

    assert status == FAILED
    assert reason in capsys.readouterr().err
