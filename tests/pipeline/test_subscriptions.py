"""Subscriptions that cannot be read are reported when the index is compiled, before any event is matched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tocsin.cli.main import main
from tocsin.errors import InvalidInput
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.example import write_example
from tocsin.pipeline.subscriptions import prepare


def example(folder: Path, *subscriptions: Any) -> Path:
    path, *_ = write_example(folder / "pipeline.toml")
    (folder / "subscriptions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in subscriptions))
    return path


GOOD = {"id": "cheap", "where": "price < 10"}
BAD = [{"id": f"bad{number}", "where": "price <"} for number in range(7)]


def test_rejects_are_written_before_the_index(tmp_path: Path) -> None:
    """With row, id, field and reason; a compile after a kill replaces them; an index that is there is not compiled."""
    pipeline = read_pipeline(example(tmp_path, BAD[0], GOOD))

    compiled = prepare(pipeline)

    assert compiled is not None
    assert (compiled.subscriptions, len(compiled.rejects), compiled.folder) == (
        1,
        1,
        tmp_path / "rejects/subscriptions",
    )
    (line,) = (tmp_path / "rejects" / "subscriptions" / "rejects.json").read_text().splitlines()
    reject = json.loads(line)
    assert (reject["row"], reject["id"], reject["field"]) == (0, "bad0", "where")
    assert "price <" in reject["reason"]
    assert prepare(pipeline) is None


def test_none_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    """The rejects are written nevertheless, and no index is."""
    pipeline = read_pipeline(example(tmp_path, *BAD))

    with pytest.raises(InvalidInput, match="no subscription could be read; row 0"):
        prepare(pipeline)

    assert len((tmp_path / "rejects" / "subscriptions" / "rejects.json").read_text().splitlines()) == 7
    assert not (tmp_path / "index").exists()


@pytest.mark.spark
@pytest.mark.slow("each run is a query of Spark")
def test_a_run_tells_them_at_the_start(spark: Any, tmp_path: Path, capsys: Any) -> None:
    """The first few are printed, all are counted; a run that matches nothing has a metric of 0 for each stream."""
    path = example(tmp_path, GOOD, *BAD, {"id": "typo", "where": "price < 3", "scroe": 2})
    (tmp_path / "changes" / "0001.json").unlink()

    assert main(["pipeline", "run", "--once", str(path)]) == 1

    told = capsys.readouterr().err
    start, _, end = told.partition("starting Spark ...\n")
    lines = start.splitlines()
    assert lines[:2] == ["reading subscriptions ...", "2 subscriptions, 7 rejected"]
    names = [line.partition(":")[0] for line in lines if line.startswith("subscription ")]
    assert names == [f"subscription {number} (bad{number - 1})" for number in range(1, 6)]
    assert lines[-2] == f"... and 2 more; {tmp_path}/rejects/subscriptions has them all"
    assert lines[-1].startswith("warning: ")
    assert "scroe" in lines[-1]
    assert end.splitlines()[-1].startswith("1 match of 3 events, 7 subscriptions rejected, 0 rejected")
    metrics = (tmp_path / "metrics.prom").read_text()
    assert 'tocsin_subscriptions_rejected_total{stream="alerts"} 7.0\n' in metrics

    assert main(["pipeline", "run", "--once", str(path)]) == 0

    metrics = (tmp_path / "metrics.prom").read_text()
    for series in ("events", "matches", "batches", "rejected", "candidates", "subscriptions_rejected"):
        assert f'tocsin_{series}_total{{stream="alerts"}} 0.0\n' in metrics
    for series in ("batches", "rejected"):
        assert f'tocsin_{series}_total{{stream="alerts-changes"}} 0.0\n' in metrics
    assert "tocsin_batch_seconds{" not in metrics
