"""How do processes that start at once not compile the same twice? One has a lock on a file, the others wait."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import IO, Final

if sys.platform != "win32":  # where each compiles for itself
    import fcntl

_PATIENCE_S: Final = 600.0
_BETWEEN_S: Final = 0.02


class Lock:
    """Held from when it is made until `release`, or the end of the process, however it ends.

    Who waits longer than anything takes to compile goes on without: to compile twice does no harm.
    """

    def __init__(self, path: Path) -> None:
        self.waited = False
        """Whether another process had it first."""
        self._file: IO[bytes] | None = None
        if sys.platform == "win32":
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb")
            self._take(time.monotonic() + _PATIENCE_S)
        except OSError:  # a file system without locks
            self.release()

    def _take(self, until: float) -> None:
        assert self._file is not None
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.waited = True
                if time.monotonic() > until:
                    return
                time.sleep(_BETWEEN_S)
            else:
                return

    def release(self) -> None:
        """Let the next one have it; the file stays, for whoever waits has it open."""
        if self._file is not None:
            self._file.close()
            self._file = None
