"""The suite itself: its order, its workers, and the reasons of what takes long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import scheduling
from tests.scheduling import Dealing, Durations
from tests.waiting import HANG_S

ROOT = Path(__file__).parents[1]

FILES = {
    "test_dies.py": "import os\n\ndef test_before(): pass\ndef test_dies(): os._exit(3)\ndef test_after(): pass\n",
    "test_lives.py": "def test_first(): pass\ndef test_last(): pass\n",
    "conftest.py": "from tests.scheduling import *\n",
    "pytest.ini": "[pytest]\n",
}


@pytest.mark.slow("it starts pytest with workers")
def test_a_worker_that_dies_names_its_test_and_the_others_are_run(tmp_path: Path) -> None:
    """The run ends, though the worker dies in the last file, and no other worker dies of the same test."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
    command += ["-c", str(tmp_path / "pytest.ini"), "--rootdir", str(tmp_path), str(tmp_path)]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert ran.returncode == 1, ran.stdout
    assert "crashed while running 'test_dies.py::test_dies'" in ran.stdout
    assert "1 failed, 4 passed" in ran.stdout


def test_quick_files_come_first_and_then_the_longest() -> None:
    took = {"a.py::test": 5.0, "b.py::test": 50.0, "c.py::test": 0.1, "d.py::test[1]": 0.9, "d.py::test[2]": 0.9}
    took |= {"e.py::test": 20.0}

    order = scheduling._order([*took, "new.py::test"], took)

    assert sorted(order, key=order.__getitem__) == ["new.py", "c.py", "d.py", "b.py", "e.py", "a.py"]


def test_quick_cases_are_few_of_what_takes_long_and_all_of_what_is_soon_over() -> None:
    """They come from all over the list, so that every value of a second parameter may be among them."""
    several = {name: [f"a.py::{name}[{case}]" for case in range(8)] for name in ("test_short", "test_long", "test_new")}
    cases = {"a.py::test_short": 0.001, "a.py::test_long": 0.025}
    tests = {"a.py::test_alone": 0.3, "a.py::test_slow": 0.5, "a.py::test_short[3]": 0.5}

    chosen = scheduling._quick([*tests, *(test for name in several for test in several[name])], Durations(tests, cases))

    of_each = {name: [test for test in several[name] if test in chosen] for name in several}
    assert of_each["test_short"] == [test for test in several["test_short"] if not test.endswith("[3]")]
    assert of_each["test_long"] == several["test_long"][::2]
    assert of_each["test_new"] == several["test_new"][:1]
    assert chosen - {test for name in of_each for test in of_each[name]} == {"a.py::test_alone"}


def test_durations_have_the_median_of_the_cases_of_a_test() -> None:
    took = {"a.py::test[1]": 0.9, "a.py::test[2]": 0.0012, "a.py::test[3]": 0.0021, "a.py::test_one": 0.31}

    durations = Durations.of(took)

    assert durations.tests == {"a.py::test[1]": 0.9, "a.py::test_one": 0.3}
    assert durations.cases == {"a.py::test": 0.002}


def test_files_that_ask_for_spark_are_a_few_units_and_divisible_ones_many(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    for name in ("one", "two", "three"):
        (folder / f"test_{name}.py").write_text("def test_it(spark: Any) -> None:\n    pass\n")
    (folder / "test_many.py").write_text("pytestmark = [pytest.mark.slow('why'), pytest.mark.divisible]\n")
    (folder / "test_few.py").write_text("def test_sparkling() -> None:\n    pass\n")

    dealing = Dealing.of_files(folder, {"tests/test_one.py": 9.0, "tests/test_two.py": 5.0, "tests/test_three.py": 3.0})

    units = [dealing.unit_of(f"tests/test_{name}.py::test_it") for name in ("one", "two", "three", "few")]
    assert units == ["spark 0", "spark 1", "spark 1", "tests/test_few.py"]
    assert dealing.unit_of("tests/test_many.py::test_it[1]") == "tests/test_many.py::test_it[1]"


def test_what_takes_long_says_why(request: pytest.FixtureRequest) -> None:
    """A test of more than ten seconds, and one of a file of more than a minute, has a reason."""
    took = scheduling.recorded().tests
    unmarked = {
        item.nodeid for item in request.session.items if not any(mark.args for mark in item.iter_markers("slow"))
    }
    long = {test for test in unmarked if took.get(test, 0.0) > scheduling.LIMIT_OF_TEST_S}
    files = scheduling.seconds_of_files(unmarked, took)

    assert long == set()
    assert {name for name, seconds in files.items() if seconds > scheduling.LIMIT_OF_FILE_S} == set()


def test_every_mark_says_why(request: pytest.FixtureRequest) -> None:
    """`slow` and `quick` have a reason."""
    marks = {
        item.nodeid
        for item in request.session.items
        if any(not mark.args for name in ("slow", "quick") for mark in item.iter_markers(name))
    }

    assert marks == set()
