"""What every test shares: Hypothesis profiles, and one Spark session made when the first test asks for it."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests import class_archive
from tests.scheduling import (  # noqa: F401 - hooks, which pytest looks for here
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_xdist_make_scheduler,
)
from tests.strategies.pools import PRESENT
from tocsin.model import instants

# Deadlines are off because the first example compiles kernels; `unit` is for between two edits, `thorough` for a night.
# `default` draws the same examples every time, so that a check says the same twice; the others look further.
# How long an example takes, or how many a strategy throws away, is chance at so few: only `thorough` asks.
_CHANCE: Final = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile("unit", deadline=None, max_examples=5, suppress_health_check=_CHANCE)
settings.register_profile(
    "default", deadline=None, max_examples=10, suppress_health_check=_CHANCE, derandomize=True, database=None
)
settings.register_profile("thorough", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("night", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in the background of a shell: whatever tests start would be deaf to the Ctrl-C that they send.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Databases wait for the disk with each commit. No test is about that disk, so folders are in memory, if it has room.
_MEMORY: Final = Path("/dev/shm")
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# Of the commands that tests start, too.
os.environ.setdefault("SPARK_SUBMIT_OPTS", class_archive.options())


@pytest.fixture(scope="session", autouse=True)
def present() -> Iterator[None]:
    """What `NOW()` is, unless a test says otherwise, as the oracle has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instants, "time", SimpleNamespace(time_ns=lambda: PRESENT.microseconds * 1000))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Without Python's collector, which takes two fifths of the time to import all files."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.unfreeze()  # what was made so far is as old as can be, and seldom examined
        gc.enable()


@pytest.fixture(scope="session")
def spark() -> Any:
    """A session that starts when the first test asks for it and lives as long as the test process.

    Two cores, since two workers at once are what tests need to see; other sessions of the process share it.
    """
    from tocsin.spark.session import local_session

    return local_session(
        "local[2]",
        app="tocsin tests",
        **{
            # A shuffle of a few rows need not be eight tasks.
            "spark.sql.shuffle.partitions": 2,
            # Small batches, so that tests of a few hundred rows cross their edges.
            "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
        },
    )
