"""How do several processes compile at once? One process a use, a few at a time; a store's locks keep them apart."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from tocsin.errors import InvalidInput, TocsinError
from tocsin.kernels.compiling.stores import LEVELS, NONE, VARIABLE, environment_of, has_all, levels, mark_all, own
from tocsin.threads import workers
from tocsin.warming.samples import uses

Progress = Callable[[float, int], None]
"""Called with the share that is done, and how many functions were compiled so far."""

_FUNCTIONS: Final = 1560
"""How many functions `warm` compiles into an empty store."""

_SECONDS_A_FUNCTION: Final = 0.15
"""CPU seconds for each: `tocsin warm` into an empty store."""


def expected_s(processes: int | None = None) -> float:
    """Roughly how many seconds `warm` takes where nothing was compiled before."""
    return _FUNCTIONS * _SECONDS_A_FUNCTION / workers(processes, "processes")


def warm(
    into: Path | None = None,
    *,
    level: str | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Compile all kernels, for this processor into the user's store, or for a level of processors into a folder.

    In the folder lies what `TOCSIN_KERNELS` may name: `level` is one of `LEVELS`, or None for this processor alone. It
    is complete or not there. Returns how many functions were compiled; 0 where nothing was missing. Cost: some three
    minutes of CPU. Raises `InvalidInput` for a level that there is not, or that this processor does not reach, and for
    less than one process (None: one a core).
    """
    if level is not None and level not in set(LEVELS) & set(levels()):
        known = ", ".join(one for one in levels() if one in LEVELS) or "none of those"
        raise InvalidInput(f"level is {level!r}; there are {', '.join(LEVELS)}, and this processor reaches {known}")
    if level is not None and into is None:
        raise InvalidInput("kernels for a level are for others: say into which folder")
    work = _Work(workers(processes, "processes"), progress)
    if into is None:
        if has_all():
            return 0
        compiled = work.compile({})
        mark_all(own())
        return compiled
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".warming-") as made:
        compiled = work.compile({**environment_of(level or ""), "NUMBA_CACHE_DIR": made, VARIABLE: NONE})
        for folder in Path(made, "kernels").iterdir():
            for lock in folder.rglob("*.lock"):
                lock.unlink()
            mark_all(folder)
            shutil.rmtree(into / folder.name, ignore_errors=True)
            folder.rename(into / folder.name)
    return compiled


class _Work:
    """Processes that go through all uses, so many at a time, and how far they are."""

    def __init__(self, processes: int, progress: Progress | None) -> None:
        self._processes = processes
        self._progress = progress
        self._lock = threading.Lock()
        self._done = self._compiled = 0
        self._running: set[subprocess.Popen[str]] = set()
        self._is_over = False

    def compile(self, environment: Mapping[str, str]) -> int:
        """How many functions were compiled. Raises `TocsinError` where a process fails."""
        with ThreadPoolExecutor(self._processes) as pool:
            waiting: set[Future[None]] = {pool.submit(self._use, name, environment) for name in uses()}
            try:
                while waiting:  # a short wait, for an interruption is seen between two
                    done, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                    for one in done:
                        one.result()
            finally:
                self._end()
        return self._compiled

    def _use(self, name: str, environment: Mapping[str, str]) -> None:
        """Let a process make use of tocsin; it says a line for each function that it compiles."""
        command = [sys.executable, "-m", "tocsin.warming.worker", name]
        with tempfile.TemporaryFile("w+") as complaints:
            with self._lock:
                if self._is_over:
                    return
                process = subprocess.Popen(
                    command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=complaints, text=True
                )
                self._running.add(process)
            for _ in process.stdout or ():
                self._tell(compiled=1)
            status = process.wait()
            self._running.discard(process)
            if status and not self._is_over:
                complaints.seek(0)
                raise TocsinError(f"the process that compiles {name!r} failed:\n{complaints.read()[-2000:]}")
        self._tell(done=1)

    def _tell(self, done: int = 0, compiled: int = 0) -> None:
        with self._lock:
            self._done += done
            self._compiled += compiled
            if self._progress is not None:
                # Uses that find their kernels compile nothing, and the first of many take longest: both shares count.
                share = max(self._done / len(uses()), min(self._compiled / _FUNCTIONS, 0.99))
                self._progress(share, self._compiled)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            running = list(self._running)
        for process in running:
            process.kill()
