"""Workers use kernels that were compiled elsewhere: a folder that the job brings, with nothing in their own cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.jit.compiling import stores

pytestmark = [pytest.mark.spark, pytest.mark.slow("it starts Spark with an empty cache of kernels"), pytest.mark.long]

JOB = """
import sys
from tocsin import spark
from tocsin.spark.session import local_session

session = local_session("local[2]", app="kernels")
subscriptions = session.createDataFrame([("a", "n < 5"), ("b", "n = 2 OR s LIKE 'x%'")], "id string, where string")
spark.compile(subscriptions, sys.argv[1])
events = session.createDataFrame([(float(n), "x") for n in range(6)], "n double, s string").repartition(3)
print(sorted((row.n, [m.subscription for m in row.matches]) for row in spark.match(events, sys.argv[1]).collect()))
session.stop()
"""


def answered(tmp_path: Path, cache: Path, kernels: str) -> str:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "TOCSIN_KERNELS": kernels}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", JOB, str(tmp_path / f"index-{cache.name}")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_workers_compile_nothing_that_the_job_brings(tmp_path: Path) -> None:
    """The folder is what an earlier run compiled: the layout of a store is that of `tocsin warm --into`."""
    first = answered(tmp_path, tmp_path / "first", str(stores.own().parent))
    brought = tmp_path / "first" / "tocsin" / "kernels"

    again = answered(tmp_path, tmp_path / "second", os.pathsep.join([str(brought), str(stores.own().parent)]))

    assert again == first
    assert "(5.0, ['b'])" in first
    assert not list((tmp_path / "second").rglob("*.nbc"))
