"""Orders replayed through a window: who is watched, what a run leaves, and what a stopped one does not."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tocsin.cli.main import main
from tocsin.demo import orders, window
from tocsin.errors import InvalidInput

pytest.importorskip("bokeh_sampledata")
pytest.importorskip("zipcodes")
image = pytest.importorskip("matplotlib.image")


def test_those_who_are_watched_are_of_three_cities() -> None:
    deals = orders.orders(1000)
    chosen = window.watched(orders.draw(deals, 300, 7))

    assert [one.alpha for one in chosen] == [0.1, 0.5, 0.9]
    assert len({one.city for one in chosen}) == 3
    assert len(window.watched(orders.draw(deals, 1, 7))) == 1


def test_a_run_leaves_what_it_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part and nothing else, in numbers that agree; a second run replaces the first."""
    asked = ["demo", "window", "--out", str(tmp_path), "--subscriptions", "40", "--events", "300", "--size", "100"]
    for _ in range(2):
        assert main(asked) == 0
    said = capsys.readouterr()
    summary = json.loads((tmp_path / "window.json").read_text())
    changes, results = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("changes", "results"))

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(window.PARTS)
    assert (summary["deals"], summary["checked"], summary["differ"], summary["is_played_back"]) == (300, 40, 0, True)
    assert summary["changes"] == len(changes) > 0
    assert all(one <= other for one, other in pairwise(changes["event"].to_pylist()))
    assert set(results["message"].to_pylist()) <= {f"order-{row:04}" for row in range(201, 301)}
    assert "the same answers; the changes add up to the results" in said.out
    assert [len(one) for one in summary["lists"]] == [11, 11, 11]
    assert all(line in said.out for one in summary["lists"] for line in one)
    assert "[3/5] Replay 300 deals: 300 at " in said.err
    assert image.imread(tmp_path / "window.png").std() > 0.05


def test_a_stopped_run_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while deals come ends with 130 and one line more; nothing unfinished stays, and earlier results do."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    (tmp_path / "window.json").write_text("{}")
    monkeypatch.setattr(window.time, "sleep", interrupted)
    asked = ["--subscriptions", "20", "--events", "100", "--pace", "1000"]

    assert main(["demo", "window", "--out", str(tmp_path), *asked]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err.splitlines()[-1]) == ("", "tocsin demo: interrupted; no incomplete output is left")
    assert [path.name for path in tmp_path.iterdir()] == ["window.json"]


@pytest.mark.parametrize("name", ["subscriptions", "size", "events"])
def test_no_count_is_zero(tmp_path: Path, name: str) -> None:
    """A count below one is refused before anything starts."""
    with pytest.raises(InvalidInput, match=f"{name} is 0; it must be at least 1"):
        window.run(tmp_path, **{name: 0})  # type: ignore[arg-type]
