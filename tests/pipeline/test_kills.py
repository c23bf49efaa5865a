"""A pipeline that is killed at any stage and run again loses nothing and writes nothing twice.

Run as a script, this file is the job: the pipeline of a file, which dies where a flag is. A session is one a process,
so the tests start it as processes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import HANG_S

pytestmark = [pytest.mark.spark, pytest.mark.slow("it starts Spark twice, in processes that are killed")]

EVENTS, FILES = 120, 4
STAGES = ("task", "sink", "publishing", "published")
"""A worker in a task; the driver between a sink's write and its commit; a worker while it publishes a version; the
driver between a published version and the commit of its changes."""

PIPELINE = """
[events]
kind = "files"
path = "events"
format = "json"
files_per_batch = 1

[subscriptions]
index = "index"
path = "subscriptions.jsonl"

[subscriptions.changes]
kind = "files"
path = "changes"
format = "json"
files_per_batch = 1

[match]
explode = true
event_id = "key"

[sink]
kind = "files"
path = "matches"
format = "parquet"

[rejects]
path = "rejects"

[run]
checkpoint = "checkpoint"
name = "killed"

[spark]
master = "MASTER"
"""
BASE = [{"id": f"s{n}", "where": f"n >= {n} AND n < {n + 3}", "score": n % 5.0} for n in range(20)]
CHANGES = [
    [
        {
            "id": f"s{n}",
            "change": ("delete", "update", "rescore")[(n + batch) % 3],
            "version": batch + 1,
            "score": 9.0 - batch,
        }
        | ({"where": f"n = {n + batch}"} if (n + batch) % 3 == 1 else {})
        for n in range(batch, 20, 2)
    ]
    for batch in range(3)
]


def dies(flag: Path) -> None:
    """Take a flag away, if it is there, and be killed."""
    try:
        flag.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def job(folder: Path) -> None:
    """Run the pipeline, and die at each stage that has a flag."""
    from tocsin.pipeline import read_pipeline, running
    from tocsin.segment import publishing
    from tocsin.spark import changing

    answers, amender, taker = running.answers, changing.Amender, running._Taker

    def killing(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            dies(folder / "task")
            yield batch

    class DeadlyAmender(amender):  # type: ignore[misc, valid-type]
        """Dies in the worker when the parts are there and the manifest is not, or in the driver before the commit."""

        def amended(self, *given: Any) -> Any:
            write = publishing.write_manifest

            def deadly(*given: Any) -> None:
                dies(folder / "publishing")
                write(*given)

            publishing.write_manifest = deadly
            try:
                return super().amended(*given)
            finally:
                publishing.write_manifest = write

        def run(self, *given: Any) -> Any:
            report = super().run(*given)
            if report.version and given[1].endswith("1"):
                dies(folder / "published")
            return report

    class DeadlyTaker(taker):  # type: ignore[misc, valid-type]
        """Dies when a micro-batch is written."""

        def __call__(self, batch: Any, number: int) -> None:
            super().__call__(batch, number)
            if number == 1:
                dies(folder / "sink")

    running.answers = lambda rows, *given: answers(rows.mapInArrow(killing, rows.schema), *given)
    changing.Amender = DeadlyAmender  # type: ignore[misc]
    running._Taker = DeadlyTaker  # type: ignore[misc]
    running.run(read_pipeline(folder / "pipeline.toml"), once=True)


def laid_out(folder: Path, master: str) -> None:
    """What the pipeline reads: events with a poison one in each file, subscriptions and changes."""
    (folder / "pipeline.toml").write_text(PIPELINE.replace("MASTER", master))
    (folder / "subscriptions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in BASE))
    for name in ("events", "changes"):
        (folder / name).mkdir()
    for number in range(FILES):
        lines = [json.dumps({"key": key, "n": key % 23}) for key in range(number, EVENTS, FILES)]
        (folder / "events" / f"{number}.json").write_text("\n".join([*lines, '{"key": poison']))
    for number, batch in enumerate(CHANGES):
        path = folder / "changes" / f"{number}.json"
        path.write_text("".join(json.dumps(one) + "\n" for one in batch))
        os.utime(path, (1e9 + number, 1e9 + number))  # Spark takes the oldest first


def expected() -> list[tuple[str, str, float]]:
    """Every match, by plain arithmetic and a dictionary."""
    from tests.naive.changes import Changing

    oracle = Changing(BASE)
    for batch in CHANGES:
        oracle.take(batch, lambda _: True)
    found = []
    for key in range(EVENTS):
        for name, (where, score) in oracle.subscriptions.items():
            if eval(where.replace(" = ", " == ").replace("AND", "and"), {"n": key % 23}):
                found.append((str(key), name, score))
    return sorted(found)


def run(folder: Path, *stages: str) -> int:
    """Run the job once, to die at some stages; its status."""
    for stage in stages:
        (folder / stage).touch()
    command = [sys.executable, "-m", __name__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
    assert not any((folder / stage).exists() for stage in stages), done.stderr[-3000:]
    return done.returncode


@contextmanager
def standalone() -> Iterator[str]:
    """A standalone master with two workers of one core; its URL."""
    import pyspark

    from tocsin.spark.java import ensure_java

    ensure_java()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, program = f"spark://127.0.0.1:{port}", str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", url]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    processes = []
    try:
        for first, *rest in (master, worker, worker):
            command = [program, f"org.apache.spark.deploy.{first}", *rest]
            processes.append(
                subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        yield url
    finally:
        for process in processes:
            process.kill()
            process.wait()


MASTERS = {
    "local": lambda: nullcontext("local[2,4]"),
    "local-cluster": lambda: nullcontext("local-cluster[2,1,1024]"),
    "standalone": standalone,
}


@pytest.mark.parametrize(
    "kind", [one if one == "local" else pytest.param(one, marks=pytest.mark.long) for one in MASTERS]
)
def test_killed_at_every_stage_it_loses_nothing_and_writes_nothing_twice(kind: str, tmp_path: Path) -> None:
    """Workers and drivers die in turns; what comes out is what an undisturbed run would have written.

    The last run, in which nothing dies, is in the session of this process.
    """
    with MASTERS[kind]() as master:
        laid_out(tmp_path, master)
        _killed_and_run_again(tmp_path)


def _killed_and_run_again(tmp_path: Path) -> None:
    import pyarrow.dataset as ds

    from tocsin.pipeline import read_pipeline, running

    assert run(tmp_path, "publishing", "published") == -signal.SIGKILL
    assert run(tmp_path, "task", "sink") == -signal.SIGKILL
    running.run(read_pipeline(tmp_path / "pipeline.toml"), once=True)

    rows = ds.dataset(tmp_path / "matches", format="parquet").to_table().to_pylist()
    assert sorted((row["event_id"], row["subscription"], row["score"]) for row in rows) == expected()
    rejects = [
        line for path in (tmp_path / "rejects" / "events").glob("*/*.json") for line in path.read_text().splitlines()
    ]
    assert len(rejects) == FILES
    assert all("poison" in json.loads(line)["event"] for line in rejects)


if __name__ == "__main__":
    job(Path(sys.argv[1]))
