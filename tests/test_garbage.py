"""What a command imports is never examined as garbage; what it makes later is, though rarely."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

import tocsin
from tocsin import garbage

STATE = "gc.isenabled(), gc.get_freeze_count() > 100_000, gc.get_threshold()"
COMMAND = f"""
import atexit, gc, sys
from tocsin.__main__ import run
sys.argv = ["tocsin", "--version"]
atexit.register(lambda: print({STATE}))
run()
"""

FIRST_USE = """
import gc, tocsin
gc.set_threshold(700, 10, 10)
{before}
frozen = gc.get_freeze_count() > 0
collections = sum(one["collections"] for one in gc.get_stats())
tocsin.Engine
collections = sum(one["collections"] for one in gc.get_stats()) - collections
young = len(gc.get_objects(generation=0))
print(collections <= 1, young < 10_000, gc.isenabled(), (gc.get_freeze_count() > 0) == frozen, gc.get_threshold())
"""


class Cycle:
    def __init__(self) -> None:
        self.me = self


def first_use(before: str) -> str:
    """What a process prints that uses a public name for the first time."""
    command = [sys.executable, "-c", FIRST_USE.format(before=before)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_command_sets_its_modules_aside() -> None:
    ran = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True True (50000, 20, 50)"


@pytest.mark.parametrize("before", ["", "gc.freeze()"])
def test_a_first_use_collects_nothing(before: str) -> None:
    """The settings of a process, and what it froze, are its owner's."""
    assert first_use(before) == "True True True True (700, 10, 10)"


def test_a_name_that_is_no_first_use_leaves_the_collector_alone() -> None:
    """An object that was young before is young afterwards."""
    young = Cycle()
    assert any(one is young for one in gc.get_objects(generation=0))
    assert not hasattr(tocsin, "no_such_name")
    assert any(one is young for one in gc.get_objects(generation=0))


def test_a_first_use_leaves_a_disabled_collector_disabled() -> None:
    assert first_use("gc.disable()").endswith("False True (700, 10, 10)")


def test_garbage_of_later_is_collected() -> None:
    """Also after an import that fails."""
    thresholds = gc.get_threshold()
    try:
        with pytest.raises(ModuleNotFoundError), garbage.setting_aside():
            import no_such_module  # noqa: F401
        assert gc.isenabled()
        later = weakref.ref(Cycle())
        garbage.set_aside()
        assert later() is None
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
