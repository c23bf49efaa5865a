"""Inter-process locks on a file or a folder.

A process that compiles a kernel locks the kernel's file, so that processes starting together compile it once. A process
that writes a version of an index locks its folder, so that no other process takes it for abandoned.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final

if sys.platform != "win32":  # without locks on Windows
    import fcntl

_PATIENCE_S: Final = 600.0
_BETWEEN_S: Final = 0.02


class Lock:
    """A lock, held from construction until `release` or the end of the process, even if it crashes.

    After `patience_s` the caller proceeds without the lock. It also does on a file system without locks.
    """

    def __init__(self, path: Path, patience_s: float = _PATIENCE_S) -> None:
        self.waited = False
        """Whether another process held it first."""
        self.is_held = False
        self._path = path
        self._file: int | None = None
        if sys.platform == "win32":
            return
        try:
            self._file = _opened(path)
            self._take(time.monotonic() + patience_s)
        except OSError:  # a file system without locks
            self.release()

    def _take(self, until: float) -> None:
        assert self._file is not None
        while not self.is_held:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.is_held = True
            except BlockingIOError:
                self.waited = True
                if time.monotonic() >= until:
                    return
                time.sleep(_BETWEEN_S)

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is locked is still at its path, neither deleted nor replaced."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file), self._path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock. The file stays, because waiting processes have it open."""
        if self._file is not None:
            if self.is_held:
                fcntl.flock(self._file, fcntl.LOCK_UN)  # a forked child may have it open, too
            os.close(self._file)
            self._file, self.is_held = None, False

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def _opened(path: Path) -> int:
    if path.is_dir():
        return os.open(path, os.O_RDONLY)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
