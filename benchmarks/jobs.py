"""How is a job run in a process of its own? By its module and its name; it prints one line of JSON.

A session of Spark is one a process, and what a process loads stays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]


def job(module: str, name: str, **given: Any) -> dict[str, Any]:
    """Run a job; what it found."""
    command = [sys.executable, "-m", module, name, json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment() -> dict[str, str]:
    """That of a process that finds this checkout, and leaves BLAS one thread."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
