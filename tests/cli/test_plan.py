"""tocsin compile --plan tells what placements would cost, and builds nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tocsin.cli.main import main


def test_a_plan_is_told_and_nothing_is_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each placement, with the visits of a sample; a bad subscription is told as ever."""
    subscriptions = [{"id": f"s{n}", "where": f"tail = 't{n % 50}' AND delay > {n}"} for n in range(200)]
    (tmp_path / "subscriptions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in subscriptions))
    events = "".join(json.dumps({"tail": f"t{n}", "delay": 2 * n}) + "\n" for n in range(50))
    (tmp_path / "events.jsonl").write_text(events)
    given = ["compile", str(tmp_path / "subscriptions.jsonl"), "--plan", "--partitions", "4"]

    assert main([*given, "--sample", str(tmp_path / "events.jsonl")]) == 0
    said = capsys.readouterr().out
    assert "hash: 4 partitions, for 200 subscriptions" in said
    assert "  partitions that an event visits: 1.00 (in 50 events)" in said
    assert "auto chooses access" in said
    assert {path.name for path in tmp_path.iterdir()} == {"subscriptions.jsonl", "events.jsonl"}

    assert main([*given, "--placement", "prefix"]) == 0
    said = capsys.readouterr().out
    assert "subscriptions that every event visits: 100.0%" in said
    assert "one partition holds half" not in said

    assert "routing: local, because an index of 0.0 GB fits half of" in said

    assert main([*given, "--placement", "access", "--memory", "0.00001"]) == 0
    assert "routing: shuffle, because an index of 0.0 GB does not fit" in capsys.readouterr().out
    assert main([*given, "--memory", "-1"]) == 2
    assert "--memory is -1; it must be the memory of a machine in GB" in capsys.readouterr().err

    assert main([*given, "--placement", "x"]) == 2
    assert "--placement is 'x'; it must be one of" in capsys.readouterr().err
    assert main([*given, "--partitions", "0"]) == 2
    assert "--partitions is 0; it must be at least 1" in capsys.readouterr().err
    assert main([*given[:2], str(tmp_path / "index"), "--placement", "access"]) == 2
    assert "--placement access is only for --plan" in capsys.readouterr().err
    assert main(given[:2]) == 2
    assert "compile needs a FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--partitions", "8"), ("--memory", "3.0"), ("--placement", "auto")])
def test_what_only_a_plan_has_is_refused_without_one(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that would say nothing is refused, also where it is the default."""
    (tmp_path / "s.jsonl").write_text('{"id": "a", "where": "price > 3"}\n')

    assert main(["compile", str(tmp_path / "s.jsonl"), str(tmp_path / "index"), option, value]) == 2
    assert f"{option} {value} is only for --plan" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()
