"""Parallel compilation: a few processes, each of which runs one use after another.

A process imports tocsin, and compiles what no store keeps, once for all its uses. The store's locks keep processes from
duplicating the rest.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from tocsin.errors import InvalidInput, TocsinError
from tocsin.jit.compiling.stores import LEVELS, NONE, VARIABLE, environment_of, has_all, levels, mark_all, own
from tocsin.threads import workers
from tocsin.warming.samples import published_uses, uses

Progress = Callable[[float, int], None]
"""Called with the share done, and the number of functions compiled so far."""

_FUNCTIONS: Final = 770
"""The number of functions that `warm` compiles into an empty store, without papers."""

_FUNCTIONS_OF_PAPERS: Final = 440
"""The number of further functions with papers."""

_PLAIN: Final = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
"""Numba colours the message of each implementation that does not fit, if the package colorama is there."""

_SECONDS_A_FUNCTION: Final = 0.1
"""CPU seconds for each function: `tocsin warm` into an empty store."""


def expected_s(processes: int | None = None, *, papers: bool = False) -> float:
    """A rough estimate of the seconds that `warm` takes if nothing is compiled yet."""
    return _functions(papers) * _SECONDS_A_FUNCTION / workers(processes, "processes")


def _functions(papers: bool) -> int:
    return _FUNCTIONS + (_FUNCTIONS_OF_PAPERS if papers else 0)


def is_warm(*, papers: bool = False) -> bool:
    """Whether nothing is left to compile."""
    return not _missing(papers)


def _missing(papers: bool) -> list[tuple[Path | None, list[str]]]:
    """The packages that are not fully compiled (None for tocsin itself), and the uses that compile them."""
    wanted: list[tuple[Path | None, list[str]]] = [(None, list(uses()))]
    wanted += [(folder, list(own)) for folder, own in (published_uses() if papers else {}).items()]
    return [one for one in wanted if not has_all(one[0])]


def warm(
    into: Path | None = None,
    *,
    level: str | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
    papers: bool = False,
) -> int:
    """Compile all kernels, for this processor into the user's store, or for a level of processors into a folder.

    With `papers` it includes the kernels of the papers' structures, and of indexes that other packages publish. The
    folder is one that `TOCSIN_KERNELS` may name; its content is complete or absent. `level` is one of `LEVELS`, or None
    for this processor alone. Returns the number of functions compiled; 0 if nothing was missing. Raises `InvalidInput`
    for an unknown level, a level that this processor does not reach, or less than one process (None: one a core). Cost:
    about 80 seconds of CPU, 110 with papers.
    """
    if level is not None and level not in set(LEVELS) & set(levels()):
        known = ", ".join(one for one in levels() if one in LEVELS) or "none of them"
        raise InvalidInput(f"level is {level!r}; it must be one of {', '.join(LEVELS)}; this processor reaches {known}")
    if level is not None and into is None:
        raise InvalidInput("kernels for a level need the option into, the folder for them")
    work = _Work(workers(processes, "processes"), progress, _functions(papers))
    if into is None:
        missing = _missing(papers)
        compiled = work.compile([name for _, names in missing for name in names], {})
        for package, _ in missing:
            mark_all(own(), package)
        return compiled
    packaged = published_uses() if papers else {}
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".warming-") as made:
        names = [*uses(), *(name for own_uses in packaged.values() for name in own_uses)]
        compiled = work.compile(names, {**environment_of(level or ""), "NUMBA_CACHE_DIR": made, VARIABLE: NONE})
        for folder in Path(made, "kernels").iterdir():
            for lock in folder.rglob("*.lock"):
                lock.unlink()
            for package in (None, *packaged):
                mark_all(folder, package)
            shutil.rmtree(into / folder.name, ignore_errors=True)
            folder.rename(into / folder.name)
    return compiled


class _Work:
    """Hands uses to a limited number of processes, and tracks their progress."""

    def __init__(self, processes: int, progress: Progress | None, functions: int) -> None:
        self._functions, self._uses = functions, 1
        self._processes = processes
        self._progress = progress
        self._lock = threading.Lock()
        self._done = self._compiled = 0
        self._waiting: deque[str] = deque()
        self._running: set[subprocess.Popen[str]] = set()
        self._is_over = False

    def compile(self, names: Sequence[str], environment: Mapping[str, str]) -> int:
        """Compile some uses; returns the number of functions compiled. Raises `TocsinError` if a process fails."""
        self._uses = max(len(names), 1)
        self._waiting.extend(names)
        with ThreadPoolExecutor(self._processes) as pool:
            processes = range(min(self._processes, len(names)))
            waiting: set[Future[None]] = {pool.submit(self._run, environment) for _ in processes}
            try:
                while waiting:  # short waits, so that an interruption is noticed between two
                    done, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                    for one in done:
                        one.result()
            finally:
                self._end()
        return self._compiled

    def _run(self, environment: Mapping[str, str]) -> None:
        """Start a process, and hand it one use after another until none is left."""
        command = [sys.executable, "-m", "tocsin.warming.worker"]
        with tempfile.TemporaryFile("w+") as complaints:
            with self._lock:
                if self._is_over:
                    return
                process = subprocess.Popen(
                    command,
                    env={**os.environ, **_PLAIN, **environment},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    text=True,
                )
                self._running.add(process)
            assert process.stdin is not None
            name = ""
            while process.poll() is None and (name := self._next()) and self._compiles(process, name):
                self._tell(done=1)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            status = process.wait()
            self._running.discard(process)
            if status and not self._is_over:
                complaints.seek(0)
                raise TocsinError(f"the process that compiles {name!r} failed:\n{complaints.read()[-2000:]}")

    def _next(self) -> str:
        """The next use; empty if none is left."""
        try:
            return self._waiting.popleft()
        except IndexError:
            return ""

    def _compiles(self, process: subprocess.Popen[str], name: str) -> bool:
        """Have a process run a use; whether it came to the end."""
        with contextlib.suppress(BrokenPipeError):
            print(name, file=process.stdin, flush=True)
        for line in process.stdout or ():
            if line == "\n":
                return True
            self._tell(compiled=1)
        return False

    def _tell(self, done: int = 0, compiled: int = 0) -> None:
        with self._lock:
            self._done += done
            self._compiled += compiled
            if self._progress is not None:
                # Uses that find their kernels compile nothing, and the first uses take longest: both shares count.
                share = max(self._done / self._uses, min(self._compiled / self._functions, 0.99))
                self._progress(share, self._compiled)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            running = list(self._running)
        for process in running:
            process.kill()
