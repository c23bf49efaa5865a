"""What every test shares: Hypothesis profiles, and one Spark session made when the first test asks for it."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.strategies.pools import PRESENT
from tocsin import garbage
from tocsin.model import instants

# Deadlines are off because the first example compiles kernels; `unit` is for between two edits, `thorough` for a night.
# `default` draws the same examples every time, so that a check says the same twice; the others look further.
# How long an example takes, or how many a strategy throws away, is chance at so few: only `thorough` asks.
_CHANCE: Final = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile("unit", deadline=None, max_examples=5, suppress_health_check=_CHANCE)
settings.register_profile(
    "default", deadline=None, max_examples=20, suppress_health_check=_CHANCE, derandomize=True, database=None
)
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in the background of a shell: whatever tests start would be deaf to the Ctrl-C that they send.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each JVM of Spark, also of the commands that tests start, is to be quick at little: it compiles once, and has one
# thread for garbage. A pipeline of three events takes half the time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

_QUICK_SECONDS: Final = 0.4
_TOOK: Final = "tocsin/took"
"""Where the seconds of each test's last run are kept, in pytest's cache."""

_ASKS_FOR_SPARK: Final = re.compile(r"^def \w+\([^)]*\bspark\b", re.MULTILINE)

_took: dict[str, float] = {}


@pytest.fixture(scope="session", autouse=True)
def present() -> Iterator[None]:
    """What `NOW()` is, unless a test says otherwise, as the oracle has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instants, "time", SimpleNamespace(time_ns=lambda: PRESENT.microseconds * 1000))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="of each test the first of its parameters, and none that took longer than 0.4 s the last time",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Without Python's collector, which takes two fifths of the time to import all files."""
    with garbage.pausing():
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files of long tests first, that no worker is at them alone at the end.

    With `--quick` what can be run between two edits.
    """
    long = Counter(item.path for item in items if any(item.iter_markers("slow")) or any(item.iter_markers("spark")))
    items.sort(key=lambda item: -long[item.path])
    if not config.getoption("--quick") or config.cache is None:
        return
    took = config.cache.get(_TOOK, {})
    first: dict[str, pytest.Item] = {}
    for item in items:
        first.setdefault(item.nodeid.partition("[")[0], item)
    kept = [item for item in first.values() if took.get(item.nodeid, 0.0) <= _QUICK_SECONDS]
    chosen = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files are dealt to workers, and those that ask for a session all to one: each would warm up a JVM of its own."""
    from xdist.scheduler import LoadFileScheduling

    if config.getvalue("dist") != "loadfile":
        return None
    tests = Path(__file__).parent
    asking = {
        path.relative_to(tests.parent).as_posix()
        for path in tests.rglob("test_*.py")
        if _ASKS_FOR_SPARK.search(path.read_text(encoding="utf-8"))
    }

    class OneSession(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "spark" if file in asking else file

    return OneSession(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The process that hears of all tests remembers what they took."""
    cache = getattr(session.config, "cache", None)  # there is none with `-p no:cacheprovider`
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set(_TOOK, cache.get(_TOOK, {}) | _took)


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
