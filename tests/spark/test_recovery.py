"""Executors of their own and workers that die change nothing about an answer.

Run as a script, this file is the job: it compiles and matches, and prints the answer as JSON. A session is one a
process, so the tests start it as processes with the masters that they need.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import HANG_S

pytestmark = [pytest.mark.spark, pytest.mark.slow("it starts Spark in a process of its own, whose workers die")]

SUBSCRIPTIONS = [(number, f"n >= {number} AND n < {number + 3}", float(number % 5)) for number in range(60)]
SUBSCRIPTIONS.append((60, "n = = 1", 0.0))
EVENTS = 200


def killer(flag: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Passes batches on; the first worker that finds the flag takes it away and dies in the middle of its task."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            try:
                os.unlink(flag)  # noqa: PTH108
            except FileNotFoundError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    return run


def job(master: str, folder: str, flag: str) -> None:
    """Compile, with a death on the way where there is a flag; match, with another; print what came out."""
    import tocsin.spark as tocsin_spark
    from tocsin.spark.session import local_session

    spark = local_session(master, **{"spark.sql.execution.arrow.maxRecordsPerBatch": 10})
    subscriptions = spark.createDataFrame(SUBSCRIPTIONS, "id bigint, where string, score double").repartition(3)
    deadly = subscriptions.mapInArrow(killer(flag + "-compile"), subscriptions.schema)
    report = tocsin_spark.compile(deadly, folder, partitions=4)
    events = spark.range(0, EVENTS, 1, 4).selectExpr("id key", "cast(id % 70 as double) n")
    matched = tocsin_spark.match(events.mapInArrow(killer(flag + "-match"), events.schema), folder)
    rows = sorted((row["key"], [list(match) for match in row["matches"]], row["error"]) for row in matched.collect())
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    print(json.dumps({"rows": rows, "counts": [report.accepted, report.rejected], "executors": executors}))
    spark.stop()


def outcome(master: str, folder: Path, *, kill: bool) -> dict[str, Any]:
    """What the job prints, run in a process of its own; with `kill`, a worker dies in each of its two halves."""
    flags = [folder / "flag-compile", folder / "flag-match"]
    for flag in flags:
        flag.touch() if kill else flag.unlink(missing_ok=True)
    arguments = [sys.executable, "-m", __name__, master, str(folder / "index"), str(folder / "flag")]

    done = subprocess.run(arguments, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    assert not any(flag.exists() for flag in flags)
    return json.loads(done.stdout.splitlines()[-1])


def expected() -> dict[str, Any]:
    """The answer by plain arithmetic."""
    rows = []
    for key in range(EVENTS):
        n = key % 70
        rows.append([key, [[s, float(s % 5)] for s in range(60) if s <= n < s + 3], None])
    return {"rows": rows, "counts": [60, 1]}


def parts(folder: Path) -> list[str]:
    """Everything below the index folder but what segments hold."""
    found = (path.name for version in (folder / "index").glob("version-*") for path in version.iterdir())
    return sorted(name for name in found if name != "version.json")


@pytest.mark.parametrize(
    "kill", [pytest.param(False, id="undisturbed", marks=pytest.mark.long), pytest.param(True, id="killed")]
)
@pytest.mark.parametrize("master", ["local[2,4]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.long)])
def test_the_answer_does_not_depend_on_executors_or_deaths(master: str, kill: bool, tmp_path: Path) -> None:
    """One process or two executors, undisturbed or with killed workers: the same rows, counts and files."""
    found = outcome(master, tmp_path, kill=kill)

    assert found.pop("executors") == (2 if "cluster" in master else 0)
    assert found == expected()
    assert parts(tmp_path) == [*(f"part-{number:05d}" for number in range(4)), "rejects"]


if __name__ == "__main__":
    job(*sys.argv[1:])
