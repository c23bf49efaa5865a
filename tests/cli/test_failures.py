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
        ("--similar", "2:0.5", "ALPHA of --similar is 2.0; it must be a number from 0 to 1"),
        ("--similar", "0.5:0", "THRESHOLD of --similar is 0.0; it must be a number above 0, of at most 1"),
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "s.jsonl", "e.jsonl"],
        ["fences", "s.jsonl", "e.jsonl", "--key", "v"],
        ["compile", "s.jsonl", "index"],
        ["compile", "s.jsonl", "--plan"],
        ["explain", "s.jsonl", "e.jsonl"],
        ["check", "s.jsonl"],
    ],
)
def test_the_only_subscription_is_refused_once(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its caret; the command then says that there is none, and shows no results for none."""
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"id": "a", "where": "price >"}\n', "utf-8")
    Path("e.jsonl").write_text('{"v": 1}\n', "utf-8")

    assert main(arguments) == (1 if arguments[0] == "check" else FAILED)

    out, err = capsys.readouterr()
    assert err.count("line 1, column 8: expected a value after '>'") == err.count("^") == 1
    assert arguments[0] == "check" or "no subscription could be read" in err
    assert "partition" not in out


def test_a_first_event_is_shown_below_many_subscriptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its reason stands there, so that the last line does not repeat it."""
    monkeypatch.chdir(tmp_path)
    refused = "".join(f'{{"id": {number}, "where": "x >"}}\n' for number in range(20))
    Path("s.jsonl").write_text(refused + '{"id": "a", "where": "x > 1"}\n', "utf-8")
    Path("e.jsonl").write_text("{x\n", "utf-8")

    assert main(["match", "s.jsonl", "e.jsonl"]) == FAILED

    err = capsys.readouterr().err
    assert "\nevent 0: line 1: invalid JSON" in err
    assert err.splitlines()[-1] == "tocsin match: no event could be read"
