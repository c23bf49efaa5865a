"""A signal ends a pipeline in an orderly way, a second one at once; neither prints a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.pipeline.test_running import add, matches, wait_for
from tests.waiting import HANG_S
from tocsin.errors import TocsinError
from tocsin.pipeline.example import write_example
from tocsin.pipeline.streams import Streams


@pytest.mark.spark
@pytest.mark.slow("it starts Spark in a process of its own")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """The micro-batch that runs is finished, the status is 0, and the last line says what was done."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    command = [sys.executable, "-m", "tocsin", "pipeline", "run", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(matches(tmp_path)) == 5)

    process.send_signal(number)
    _, told = process.communicate(timeout=HANG_S)

    assert process.returncode == 0
    lines = told.splitlines()
    assert lines[:3] == ["reading subscriptions ...", "3 subscriptions, 0 rejected", "starting Spark ..."]
    assert "stopping after the current micro-batch" in lines
    assert lines[-1] == "5 matches of 3 events, 0 rejected; run it again to continue"


@pytest.mark.spark
@pytest.mark.slow("it starts Spark in a process of its own")
@pytest.mark.parametrize("to_java", [False, pytest.param(True, marks=pytest.mark.long)], ids=["process", "group"])
def test_two_signals_at_once_end_it_quietly(tmp_path: Path, to_java: bool) -> None:
    """While a micro-batch runs, with status 130; also if they end Java's process; the next run has what is missing."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    command = [sys.executable, "-m", "tocsin", "pipeline", "run", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: len(matches(tmp_path)) == 5)
    add(tmp_path, "events/many.json", *({"key": str(number), "n": number} for number in range(100_000)))
    wait_for(lambda: (tmp_path / "checkpoint" / "events" / "offsets" / "1").exists())

    for number in (signal.SIGINT, signal.SIGTERM):
        os.killpg(process.pid, number) if to_java else process.send_signal(number)
    _, told = process.communicate(timeout=HANG_S)

    assert process.returncode == 130
    assert "Traceback" not in told
    assert told.splitlines()[-2:] == [
        "stopping after the current micro-batch",
        "tocsin pipeline: interrupted; no incomplete output is left",
    ]


class Gone:
    """A session without its Java process."""

    sparkContext = SimpleNamespace(_accumulatorServer=SimpleNamespace())  # noqa: N815
    streams = SimpleNamespace(addListener=lambda _: None, removeListener=lambda _: None)


@pytest.mark.parametrize(("is_asked", "error"), [(False, TocsinError), (True, KeyboardInterrupt)])
def test_a_spark_that_is_gone_is_told(is_asked: bool, error: Any) -> None:
    """Without a traceback; after a stop it is no error."""
    stop = threading.Event()
    if is_asked:
        stop.set()
    session: Any = Gone()
    listener: Any = None

    with pytest.raises(error), Streams(session, listener, stop).ending():
        raise ConnectionRefusedError
