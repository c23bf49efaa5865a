"""A window that is killed at any stage goes on as if it had not been.

Run as a script, this file is the job: a stream of messages, one file a micro-batch, which dies where a flag is. A
session is one a process, so the test starts it as processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from tests.spark.test_streams import Files, stream
from tests.spark.windows.test_windows import (
    BOUNDS,
    CHANGE_SCHEMA,
    CHANGES,
    MESSAGES,
    SCHEMA,
    expected,
    expected_lists,
    folded,
    subscribed,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow("it starts Spark in processes that are killed"), pytest.mark.long]

STAGES = ("numbering", "first answer", "answered", "written")
"""A worker while it numbers messages; a worker before a partition's first answer; one that has answered and put its
state, before that is committed; the driver when a micro-batch is written, before its commit."""

HOME: Final = "home"
"""The stage of a home that has merged lists, before its state is committed."""


def dies(flag: Path) -> None:
    """Take a flag away, if it is there, and be killed."""
    try:
        flag.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def job(folder: Path, placement: str, partitions: int) -> None:
    """Run the stream, and die at each stage that has a flag. With a placement subscriptions change meanwhile."""
    import tocsin.spark as tocsin_spark
    from tocsin.spark.session import local_session
    from tocsin.spark.windows import asking, processing

    numberer, processor = asking._numberer, processing.Processor

    def deadly(*given: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
        run = numberer(*given)

        def numbered(batches: Iterable[Any]) -> Iterator[Any]:
            for packets in run(batches):
                dies(folder / "numbering")
                yield packets

        return numbered

    class Deadly(processor):  # type: ignore[misc, valid-type]
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            dies(folder / "first answer")
            yield from super().handleInputRows(key, rows, timerValues)
            if (folder / "batch=1").exists():  # so that there is a part in memory that goes on
                dies(folder / "answered")

    class DeadlyHome(processing.HomeProcessor):  # type: ignore[misc]
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            yield from super().handleInputRows(key, rows, timerValues)
            if (folder / "batch=1").exists():
                dies(folder / HOME)

    asking._numberer, processing.Processor, processing.HomeProcessor = deadly, Deadly, DeadlyHome
    session = local_session("local[2,4]", **{"spark.sql.shuffle.partitions": 2})
    asked = tocsin_spark.window(
        stream(session, folder / "messages", SCHEMA).drop("time"),
        subscribed(session),
        changes=stream(session, folder / "changes", CHANGE_SCHEMA) if placement else None,
        size=20,
        bounds=BOUNDS,
        partitions=partitions,
        order="place",
        placement=placement or "hash",
    )

    def take(batch: Any, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / f"batch={number}"))
        if number == 2:
            dies(folder / "written")

    writer = asked.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(400)


@pytest.mark.parametrize(
    ("placement", "partitions"),
    [("", 3), ("hash", 3), ("keyword", 3), ("location", 8), ("prefix", 2)],
    ids=["without changes", "hash", "keyword", "location", "prefix"],
)
def test_a_window_that_is_killed_goes_on(tmp_path: Path, placement: str, partitions: int) -> None:
    """Workers and the driver die once at each stage; the changes, or the lists, are those of one process."""
    files, changes = Files(tmp_path / "messages"), Files(tmp_path / "changes")
    for first in range(0, 90, 15):
        files.add(MESSAGES[first : first + 15])
        changes.add([change for change in CHANGES if first <= change["place"] < first + 15])
    stages = STAGES if placement in ("", "hash") else [*STAGES, HOME]
    for stage in stages:
        (tmp_path / stage).touch()

    command = [sys.executable, "-m", __spec__.name, str(tmp_path), placement, str(partitions)]
    done = [subprocess.run(command, capture_output=True, text=True, timeout=500) for _ in range(2)]

    assert [one.returncode for one in done] == [-signal.SIGKILL, 0], done[-1].stderr[-3000:]
    assert not any((tmp_path / stage).exists() for stage in stages)
    rows = [row for part in range(6) for row in pq.read_table(tmp_path / f"batch={part}").to_pylist()]
    if placement:
        assert folded(sorted(rows, key=lambda row: -1 if row["event"] is None else row["event"])) == expected_lists(
            size=20
        )
        return
    told, refused = expected(size=20)
    assert sorted((r["subscription"], r["message"], r["kind"], r["score"]) for r in rows if not r["error"]) == told
    assert [row["error"] for row in rows if row["error"]] == refused


if __name__ == "__main__":
    job(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
