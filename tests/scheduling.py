"""A pytest plugin: which tests run, in which order, on which worker; and how long they took.

`tests/durations.json` has the seconds of the tests that take a tenth of a second or more, and the median of a case of
each parametrized test. `make durations` measures them. Files of little time come first, so that most faults show in
two minutes. Then the longest come first, so that no worker is alone at the end.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[1]
DURATIONS: Final = ROOT / "tests" / "durations.json"
LIMIT_OF_TEST_S, LIMIT_OF_FILE_S = 10.0, 60.0
"""What takes longer has the marker `slow`, which says why."""

_TOOK: Final = "tocsin/took"
"""Where pytest's cache has the seconds of each test's last run."""

_QUICK_TEST_S: Final = 0.4
_QUICK_CASES_S: Final = 0.1
"""How long the cases of a parametrized test may take together with `--quick`."""
_QUICK_FILE_S: Final = 2.0
_LEAST_S: Final = 0.1
_UNKNOWN_S: Final = 0.03
_SPARK_GROUPS: Final = 2
_ASKS_FOR_SPARK: Final = re.compile(r"^def \w+\([^)]*\bspark\b", re.MULTILINE)
_IS_DIVISIBLE: Final = re.compile(r"^pytestmark = .*pytest\.mark\.divisible\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help=f"as many cases of each test as take {_QUICK_CASES_S} s, one at least, "
        f"and no test that took longer than {_QUICK_TEST_S} s the last time",
    )


class Durations(NamedTuple):
    """The seconds of tests."""

    tests: Mapping[str, float]  # by a test's id, if they are not few
    cases: Mapping[str, float]  # the median of a case, by a parametrized test's id without its parameters

    @classmethod
    def of(cls, took: Mapping[str, float]) -> Durations:
        """Round what the tests of a run took."""
        cases: dict[str, list[float]] = defaultdict(list)
        for test, seconds in sorted(took.items()):
            if "[" in test:
                cases[function_of(test)].append(seconds)
        return cls(
            {test: round(seconds, 1) for test, seconds in sorted(took.items()) if seconds >= _LEAST_S},
            {name: round(median(several), 3) for name, several in cases.items() if len(several) > 1},
        )


def recorded() -> Durations:
    """The durations that are part of the project."""
    return Durations(**json.loads(DURATIONS.read_text("utf-8"))) if DURATIONS.exists() else Durations({}, {})


def record(took: Mapping[str, float]) -> None:
    """Write the seconds of tests into the file that is part of the project."""
    DURATIONS.write_text(json.dumps(Durations.of(took)._asdict(), indent=0) + "\n", "utf-8")


def file_of(test: str) -> str:
    return test.partition("::")[0]


def function_of(test: str) -> str:
    return test.partition("[")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests. With `--quick` keep those that can run between two edits."""
    durations = recorded()
    if config.getoption("--quick"):
        _keep_quick(config, items, durations)
    order = _order([item.nodeid for item in items], durations.tests)
    items.sort(key=lambda item: order[file_of(item.nodeid)])


def _last_run(config: pytest.Config) -> dict[str, float]:
    """The seconds of each test in its last run here."""
    cache = getattr(config, "cache", None)  # there is none with `-p no:cacheprovider`
    return {} if cache is None else cache.get(_TOOK, {})


def _keep_quick(config: pytest.Config, items: list[pytest.Item], durations: Durations) -> None:
    last_run = _last_run(config)
    tests = {**durations.tests, **last_run}
    durations = Durations(tests, {**Durations.of(last_run).cases, **durations.cases})
    chosen = _quick([item.nodeid for item in items], durations)
    chosen |= {item.nodeid for item in items if item.get_closest_marker("quick")}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def _quick(tests: Iterable[str], durations: Durations) -> set[str]:
    """Choose tests that can run between two edits."""
    cases: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        cases[function_of(test)].append(test)
    chosen = {test for function, several in cases.items() for test in _spread(several, durations.cases.get(function))}
    return {test for test in chosen if durations.tests.get(test, 0.0) <= _QUICK_TEST_S}


def _spread(cases: Sequence[str], seconds: float | None) -> Sequence[str]:
    """The first case, and as many more as there is time for, from all over the list. Of unknown cases the first."""
    most = 1 if seconds is None else int(_QUICK_CASES_S / max(seconds, 0.001))
    count = min(max(most, 1), len(cases))
    return [cases[number * len(cases) // count] for number in range(count)]


def _order(tests: Iterable[str], took: Mapping[str, float]) -> dict[str, int]:
    """The position of each file: quick files from the quickest on, then the others from the longest on."""
    seconds = seconds_of_files(tests, took)
    quick = sorted((name for name, total in seconds.items() if total <= _QUICK_FILE_S), key=seconds.__getitem__)
    others = sorted((name for name, total in seconds.items() if total > _QUICK_FILE_S), key=lambda name: -seconds[name])
    return {name: position for position, name in enumerate((*quick, *others))}


def seconds_of_files(tests: Iterable[str], took: Mapping[str, float]) -> dict[str, float]:
    """The recorded seconds of each file of some tests. A test that is not recorded counts little."""
    totals: dict[str, float] = defaultdict(float)
    for test in tests:
        totals[file_of(test)] += took.get(test, _UNKNOWN_S)
    return totals


class Dealing(NamedTuple):
    """The unit of work that each test belongs to: all tests of a unit run on one worker, in order."""

    spark_group: Mapping[str, int]  # of the files that ask for a session of Spark
    divisible: frozenset[str]  # files whose tests share nothing

    @classmethod
    def of_files(cls, folder: Path, seconds: Mapping[str, float]) -> Dealing:
        """Read the files: those that ask for a session form a few groups, since each group starts a Java."""
        texts = {
            path.relative_to(folder.parent).as_posix(): path.read_text("utf-8") for path in folder.rglob("test_*.py")
        }
        asking = sorted(
            (name for name, text in texts.items() if _ASKS_FOR_SPARK.search(text)),
            key=lambda name: (-seconds.get(name, 0.0), name),
        )
        totals, groups = [0.0] * _SPARK_GROUPS, {}
        for name in asking:
            groups[name] = totals.index(min(totals))
            totals[groups[name]] += seconds.get(name, 1.0)
        return cls(groups, frozenset(name for name, text in texts.items() if _IS_DIVISIBLE.search(text)))

    def unit_of(self, test: str) -> str:
        file = file_of(test)
        if file in self.spark_group:
            return f"spark {self.spark_group[file]}"
        return test if file in self.divisible else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadfile":
        return None
    return _scheduler_class()(config, log)


@cache
def _scheduler_class() -> Any:
    """A scheduler of pytest-xdist, imported only where there are workers."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        """Deals units of work, those of Spark first, and goes on after a worker has died."""

        def __init__(self, config: pytest.Config, log: Any) -> None:
            super().__init__(config, log)
            took = recorded().tests
            self._dealing = Dealing.of_files(ROOT / "tests", seconds_of_files(took, took))

        def _split_scope(self, nodeid: str) -> str:
            return self._dealing.unit_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            """Queries of Spark wait for much of their time, so that other tests run beside them."""
            waiting = next((unit for unit in self.workqueue if unit.startswith("spark ")), None)
            if waiting is not None:
                self.workqueue.move_to_end(waiting, last=False)
            super()._assign_work_unit(node)

        def remove_node(self, node: Any) -> str | None:
            """Take a worker out. Returns the test that it died of, which no other worker runs again."""
            units = self.assigned_work.pop(node)
            pending = [(unit, test) for unit, tests in units.items() for test, is_done in tests.items() if not is_done]
            if not pending:
                return None
            unit, crashed = pending[0]
            units[unit][crashed] = True
            self.workqueue.update({name: tests for name, tests in units.items() if not all(tests.values())})
            for other in self.assigned_work:
                self._reschedule(other)
            return crashed

    return Scheduling


class Timing:
    """How long each test of a run took."""

    def __init__(self) -> None:
        self.took: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The process that hears of all tests remembers their seconds."""
        cache = getattr(session.config, "cache", None)
        if cache is not None:
            cache.set(_TOOK, _last_run(session.config) | self.took)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files = seconds_of_files(self.took, self.took)
        if len(files) > 5:
            terminalreporter.section("slowest files")
            for name in sorted(files, key=lambda name: -files[name])[:5]:
                terminalreporter.write_line(f"{files[name]:8.1f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Timing(), "tocsin-timing")


def main() -> None:
    """Record what the tests took in their last run."""
    last_run = ROOT / ".pytest_cache" / "v" / _TOOK
    if not last_run.exists():
        sys.exit("There is no run to record: make test")
    record(json.loads(last_run.read_text("utf-8")))


if __name__ == "__main__":
    main()
