"""Local Spark sessions for applications: quick to start and quiet.

The demo, the command line and the tests use them. Library functions never create a session; they use that of the
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

from tocsin.errors import needing
from tocsin.spark.java import ensure_java

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_SETTINGS: Final = {
    # A local run needs no web pages, and their server costs about a second at the start.
    "spark.ui.enabled": "false",
    # Spark's own progress bar would overwrite ours.
    "spark.ui.showConsoleProgress": "false",
    # The default of 200 is meant for clusters; here each shuffle would run 200 almost empty tasks.
    "spark.sql.shuffle.partitions": "8",
    # Avoids a look-up of the machine's name, which can be slow or wrong, and a port open to the network.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A Python worker keeps its memory maps and compiled kernels from task to task.
    "spark.python.worker.reuse": "true",
    # Converts between pandas and Spark by column instead of by row.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Large enough to make the cost of a call into the kernels negligible, small enough for the cache.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # To open a local file costs little. With the default of 4 MB a file of 10 MB is divided 7 to 3 between two cores,
    # and one of 4 MB is read by a single core.
    "spark.sql.files.openCostInBytes": "64KB",
    # A timestamp means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # The standard form of times in Parquet; the default is an old form, in nanoseconds.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Checkpoints are on a local disk, where the default takes several times as long to write one.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # The state of a window is written in chunks; with this store only changed chunks go into the checkpoint.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Java and a worker exchange small pieces, and over TCP each one waits for the previous: 40 ms per task.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    # How long an idle stream sleeps before it looks again; the default is 10 ms.
    "spark.sql.streaming.pollingDelay": "1ms",
    # Matching keeps no state, so a micro-batch without events has nothing to do.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Exceptions reach Python anyway; other warnings of a local run concern clusters.
    "spark.log.level": "ERROR",
}

_LONGEST_FOLDER: Final = 60
"""In bytes. A socket's path can have 103 on every system, and Spark's names take 42."""


def local_session(master: str = "local[*]", *, app: str = "tocsin", **conf: str | int | float | bool) -> SparkSession:
    """Start Spark on this machine, or return the session that the process already has.

    Parameters
    ----------
    master : str
        Spark's master.
    app : str
        The name of the application.
    **conf : str, int, float or bool
        Further settings, which override the defaults: `local_session(**{"spark.sql.shuffle.partitions": 2})`.

    Returns
    -------
    pyspark.sql.SparkSession
        The session.

    Raises
    ------
    MissingExtra
        If PySpark or Java is missing.

    Notes
    -----
    Cost: 3 to 5 seconds. The output of the Java process goes to a log file in a temporary folder, which
    `spark.tocsin.log` in the session's conf names. If the start fails, the error carries the last lines.
    """
    with needing("spark"):
        from pyspark import SparkConf
        from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        return active
    ensure_java()
    # Workers run this interpreter, not the first python3 on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = _folder()
    log = folder / "spark.log"
    _silence()
    settings = SparkConf().setMaster(master).setAppName(app).setAll(list(_SETTINGS.items()))
    # Otherwise a folder `spark-warehouse` appears in the current folder.
    settings.set("spark.sql.warehouse.dir", (folder / "warehouse").as_uri()).set("spark.tocsin.log", str(log))
    if master.startswith("local") and len(os.fsencode(folder)) <= _LONGEST_FOLDER:
        # Spark leaves behind the sockets of a session that was not stopped; this folder is removed with them.
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
    """One temporary folder per process: later sessions use the first one's Java process and log."""
    folder = Path(tempfile.mkdtemp(prefix="tocsin-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _silence() -> None:
    """Keep PySpark's and Py4J's logs of an error, written just before raising it, off the terminal."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    # On Ctrl-C Py4J writes a stack trace to the root logger itself.
    logging.getLogger().addFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def _same_interrupt() -> Iterator[None]:
    """Preserve the handler of Ctrl-C: Spark's context would replace it and cancel jobs."""
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
            gateway = launch_gateway(settings, {"stderr": sink})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway, conf=settings)
