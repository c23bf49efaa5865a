"""How does an application that owns its Spark start it? A local session, quick to start and quiet.

For the demo, the command line and the tests. Library functions never make a session: they use that of the
DataFrame.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tocsin.errors import MissingExtra
from tocsin.spark.java import ensure_java

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_SETTINGS: Final = {
    # Nobody looks at the web pages of a local run, and their server costs about a second at the start.
    "spark.ui.enabled": "false",
    # Spark's own bar would write over ours.
    "spark.ui.showConsoleProgress": "false",
    # 200 is meant for clusters; on one machine each shuffle would pay for 200 almost empty tasks.
    "spark.sql.shuffle.partitions": "8",
    # No look-up of the machine's own name, which can be slow or wrong, and no open port to the network.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A Python worker keeps its memory maps and compiled kernels from task to task.
    "spark.python.worker.reuse": "true",
    # pandas to Spark and back by columns instead of row by row.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Large enough that the cost of a call into the kernels vanishes, small enough for the cache.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # A timestamp means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Times in Parquet as the standard has them; the default is an old form, in nanoseconds.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Checkpoints lie on this machine's disk, where the default takes several times as long to write one.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # What a window keeps is written in chunks, of which only those that changed go into the checkpoint.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Java and a worker talk in small pieces, of which each waits for the one before over TCP: 40 ms a task.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    # How long a stream without events sleeps before it looks again; the default is 10 ms.
    "spark.sql.streaming.pollingDelay": "1ms",
    # Matching keeps no state, so a micro-batch without events has nothing to do.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Exceptions reach Python anyway; the warnings of a local run concern clusters.
    "spark.log.level": "ERROR",
}

_LONGEST_FOLDER: Final = 60
"""Bytes. A socket's path has room for 103 on every system, and Spark's names take 42."""


def local_session(master: str = "local[*]", *, app: str = "tocsin", **conf: str | int | float | bool) -> SparkSession:
    """Start Spark on this machine, or return the session that the process has already.

    `conf` are further settings, and win: `local_session(**{"spark.sql.shuffle.partitions": 2})`. What the
    Java process prints goes to a log file in a temporary folder (`spark.tocsin.log` in the session's conf
    names it) instead of the terminal; when the start fails, the error carries its last lines. Costs 3 to 5
    seconds. Raises `MissingExtra` where PySpark or Java is missing.
    """
    try:
        from pyspark import SparkConf
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra(f"{error}. Spark comes with: pip install 'tocsin[spark]'") from None

    if (active := SparkSession.getActiveSession()) is not None:
        return active
    ensure_java()
    # The workers run this very interpreter, not whatever python3 is first on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = _folder()
    log = folder / "spark.log"
    _silence()
    settings = SparkConf().setMaster(master).setAppName(app).setAll(list(_SETTINGS.items()))
    # Otherwise a folder `spark-warehouse` appears wherever the process stands.
    settings.set("spark.sql.warehouse.dir", (folder / "warehouse").as_uri()).set("spark.tocsin.log", str(log))
    if master.startswith("local") and len(os.fsencode(folder)) <= _LONGEST_FOLDER:
        # Spark leaves the sockets of a session that nobody stopped; in this folder they go with it.
        settings.set("spark.python.unix.domain.socket.dir", str(folder))
    for key, value in conf.items():
        settings.set(key, str(value).lower() if isinstance(value, bool) else str(value))
    try:
        with _same_interrupt():
            _start_java(settings, log)
            return SparkSession.builder.config(conf=settings).getOrCreate()
    except Exception as error:
        if log.exists() and (tail := log.read_text(errors="replace")[-2000:].strip()):
            error.add_note(f"The last that Spark said:\n{tail}")
        raise


@functools.cache
def _folder() -> Path:
    """One temporary folder a process: later sessions run in the Java process of the first, with its log."""
    folder = Path(tempfile.mkdtemp(prefix="tocsin-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _silence() -> None:
    """Keep from the terminal what PySpark and Py4J log of an error just before they raise it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    # On Ctrl-C Py4J writes a stack trace to the root logger itself.
    logging.getLogger().addFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def _same_interrupt() -> Iterator[None]:
    """Leave Ctrl-C to whoever has taken it: Spark's context takes it for itself, and cuts jobs off."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and handler is not signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)


def _start_java(settings: SparkConf, log: Path) -> None:
    """Start the Java process with its standard error in `log`; later contexts of this process use it."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        with log.open("wb") as sink:
            SparkContext._ensure_initialized(gateway=launch_gateway(settings, {"stderr": sink}), conf=settings)
