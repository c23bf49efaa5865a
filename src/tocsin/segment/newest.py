"""The newest version of an index folder, opened on demand, so that a long run follows updates."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from tocsin.errors import TocsinError
from tocsin.segment.storage import MANIFEST

Opened = TypeVar("Opened")


class Newest(Generic[Opened]):
    """A call returns the newest version of an index folder, as `opened` makes it.

    If a newer version cannot be opened, the call returns the one before, and calls `failed` once with the reason. Cost
    of a call: a `stat` of the manifest, or `look`, whose result differs for a newer version. Thread-safe.
    """

    def __init__(
        self,
        folder: str | Path,
        opened: Callable[[Path], Opened],
        failed: Callable[[str], None] = lambda _: None,
        look: Callable[[], Any] | None = None,
    ) -> None:
        self._folder, self._opened, self._failed = Path(folder), opened, failed
        self._look = partial(manifest_mark, self._folder) if look is None else look
        self._lock = threading.Lock()
        self._mark = self._look()  # before opening, so that a version published meanwhile is opened again
        self._now = opened(self._folder)

    def __call__(self) -> Opened:
        with self._lock:
            mark = self._look()
            if mark != self._mark:
                self._mark = mark
                try:
                    self._now = self._opened(self._folder)
                except (TocsinError, OSError) as error:
                    self._failed(f"{self._folder} cannot be opened, and the earlier version stays in use: {error}")
            return self._now


def manifest_mark(folder: Path) -> tuple[int, int, int] | None:
    """Identifies the version of a folder; None if there is none."""
    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
