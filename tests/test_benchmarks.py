"""Each part of the benchmarks runs, with few subscriptions, and two versions can be compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import turns
from benchmarks.__main__ import PARTS, main
from benchmarks.jobs import ROOT, environment
from benchmarks.rows import Row

QUICK = ("b1", "b2", "b5", "patterns", "public", "ranked")
LONG = (
    "monitor",
    *("b1_ranked", "b4", "b4_large", "b5_long", "b5_policies", "bulk", "changes", "dense", "durable"),
    *("ir_tree", "paths", "placement", "rules", "threads"),
)


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow("it runs benchmarks of all structures")
@pytest.mark.parametrize("part", [*QUICK, *(pytest.param(part, marks=pytest.mark.long) for part in LONG)])
def test_a_part_runs(part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In this process, which has the kernels already; `test_two_versions_take_turns` starts the command."""
    arguments = [part, "--subscriptions=500", "--events=64", "--size=500", "--json"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # as the command does, but only for this test

    assert main() == 0

    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows
    assert all(set(row) == {"what", "load", "of", "value", "unit", "note"} for row in rows)


def test_the_parts_are_known() -> None:
    """The rest needs Spark, a server, a wheel, a peer or many minutes."""
    spark = {"spark", "spark_join", "spark_latency", "window_spark"}
    others = {"calibration", "cold", "places", "saved_searches", "service", "sizing", "warm", *spark}
    assert set(PARTS) == {*QUICK, *LONG, *others}


@pytest.mark.slow("it runs benchmarks of all structures")
def test_two_versions_take_turns() -> None:
    """Here the same one twice: the gain of a rate is near 1, and memory is seen."""
    shown = run("patterns", "--subscriptions=2000", "--events=64", f"--against={ROOT}", "--times=1").splitlines()
    (line,) = [one for one in shown if one.startswith("access") and "parse and build" in one]
    before, here, unit, gain, held, holds = line[46:].split()[:6]
    assert unit == "s"
    assert float(before) > 0 and float(here) > 0
    assert 0.02 < float(gain) < 50
    assert 50 < float(held) < 5000 and 50 < float(holds) < 5000


def test_another_version_is_a_checkout(tmp_path: Path) -> None:
    """Its sources would not be found, and this version compared with itself."""
    command = [sys.executable, "-m", "benchmarks", "patterns", "--against", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"--against is {tmp_path}, which is no checkout of tocsin" in done.stderr


def test_an_interrupted_comparison_shows_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = iter([4.0, 2.0, 6.0])

    def turn(part: str, options: Any, source: Path) -> Any:
        value = next(values, None)
        if value is None:
            raise KeyboardInterrupt
        yield ("one", "", "work", "1"), turns.Taken(Row("one", "", "work", value, "s"), 10.0)

    monkeypatch.setattr(turns, "_turn", turn)
    shown = turns.lines("part", [], ROOT, 5)
    assert next(shown).split()[2:6] == ["5.00", "2.00", "s", "2.50"]
    with pytest.raises(SystemExit) as ended:
        next(shown)
    assert ended.value.code == 130
    assert capsys.readouterr().err.endswith("part: interrupted; medians of at most 1 of 5 turns\n")
