"""What a command imports is never examined as garbage; what it makes later is, though rarely."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

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

LIBRARY = """
import gc
touched = []
for name in ("disable", "enable", "freeze", "unfreeze", "set_threshold", "collect"):
    setattr(gc, name, lambda *_, name=name: touched.append(name))
before = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()

import tocsin
for name in tocsin.__all__:
    getattr(tocsin, name)
engine = tocsin.Engine.open({folder!r})
engine.subscribe("s", "price < 5")
assert [match.subscription for match in engine.match({{"price": 3}})] == ["s"]
engine.close()
assert len(tocsin.match([{{"id": "s", "where": "price < 5"}}], [{{"price": 3}}])) == 1
print(touched, before == (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()))
"""


class Cycle:
    def __init__(self) -> None:
        self.me = self


def test_a_command_sets_its_modules_aside() -> None:
    ran = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True True (50000, 20, 50)"


def test_the_library_leaves_the_collector_of_its_host_alone(tmp_path: Path) -> None:
    """All public names, a durable engine, single events and batches."""
    script = LIBRARY.format(folder=str(tmp_path / "alerts"))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[] True"


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
