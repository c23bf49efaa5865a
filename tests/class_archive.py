"""An archive of the Java classes that Spark loads, which halves the time of each start of Spark.

Tests start Spark some thirty times. `python -m tests.class_archive` makes the archive once a machine, in half a minute:
it runs what tests do, and lets Java write the classes that were loaded (JEP 350, dynamic class-data archives). Java
ignores an archive that another Java or another Spark made, and then starts as it does without one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each Java is to be quick at little: it compiles once, and has one thread for garbage. A pipeline of three events
# takes half the time.
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tocsin" / "java"


def options() -> str:
    """Java options for all Sparks of the tests."""
    try:
        archive = _archive()
    except PackageNotFoundError:  # as in the environments of further Pythons
        return QUICK
    return f"{QUICK} -XX:SharedArchiveFile={archive} -Xlog:disable" if archive.exists() else QUICK


def _archive() -> Path:
    return _CACHE / f"spark-{version('pyspark')}.jsa"


def make() -> None:
    """Write the archive, unless the same Java has written it."""
    from tocsin.spark.java import ensure_java

    java, archive = ensure_java(), _archive()
    maker = archive.with_suffix(".txt")
    if archive.exists() and maker.exists() and maker.read_text("utf-8") == repr(java):
        return
    print("Keeping Spark's Java classes, so that tests start Spark in half the time", file=sys.stderr)
    archive.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.with_suffix(f".{os.getpid()}")
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"{QUICK} -XX:ArchiveClassesAtExit={draft} -Xlog:disable"}
    subprocess.run([sys.executable, "-m", "tests.class_archive", "load"], env=environment, check=False)
    if draft.exists():
        draft.replace(archive)
        maker.write_text(repr(java), "utf-8")


def load() -> None:
    """Use of Spark what tests use, then end Java in order: it writes the archive as its last act."""
    from tocsin.spark.session import local_session

    spark: Any = local_session("local[2]", **{"spark.sql.shuffle.partitions": 2})
    with tempfile.TemporaryDirectory() as folder:
        _run_queries(spark, Path(folder))
        spark.stop()
    gateway = spark.sparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _run_queries(spark: SparkSession, folder: Path) -> None:
    """Batches and a stream, files of two formats, Python workers, a shuffle and a sort."""

    def passed(batches: Any) -> Any:
        yield from batches

    rows = [(number, f"n > {number}", {"n": 1.0}) for number in range(20)]
    frame = spark.createDataFrame(rows, "id bigint, where string, weights map<string, double>")
    matched = frame.mapInArrow(passed, frame.schema).repartition(2)
    matched.groupBy("where").count().orderBy("where").collect()
    frame.select("id", "where").write.parquet(str(folder / "parquet"))
    frame.write.json(str(folder / "json"))
    spark.read.parquet(str(folder / "parquet")).selectExpr("count(*)").collect()
    stream = spark.readStream.schema("id bigint, where string").json(str(folder / "json"))
    writer = stream.mapInArrow(passed, stream.schema).writeStream.foreachBatch(lambda batch, _: batch.collect())
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()


if __name__ == "__main__":
    load() if "load" in sys.argv else make()
