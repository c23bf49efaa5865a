"""What a command imports is never examined as garbage; what it makes later is, though rarely."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from tocsin import garbage

STATE = "gc.isenabled(), gc.get_freeze_count() > 100_000, gc.get_threshold()"
COMMAND = f"""
import atexit, gc, sys
from tocsin.__main__ import run
sys.argv = ["tocsin", "--version"]
atexit.register(lambda: print({STATE}))
run()
"""


class Cycle:
    def __init__(self) -> None:
        self.me = self


def test_a_command_sets_its_modules_aside() -> None:
    ran = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True True (50000, 20, 50)"


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
