"""Runs a job, given by module and name, in a process of its own; the job prints one line of JSON.

Each job needs its own process, because Spark allows one session per process and loaded code stays in memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import tocsin

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = Path(tocsin.__file__).parents[1]
"""The sources that are measured: those of this checkout, or of another one that comes first in `PYTHONPATH`."""


def job(module: str, name: str, **given: Any) -> dict[str, Any]:
    """Run a job and return its result."""
    command = [sys.executable, "-m", module, name, json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment(source: Path = SOURCE) -> dict[str, str]:
    """The environment of a process that imports tocsin from some sources and limits BLAS to one thread."""
    paths = [str(source), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
