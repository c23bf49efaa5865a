"""The state of fences, saved between batches of events while a stream goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tocsin.errors import TocsinError


class Saving:
    """Calls `save` at regular times, if events came since, also while the stream is silent.

    It never saves while events are processed and their changes are written.
    """

    def __init__(self, save: Callable[[], None], every_s: float) -> None:
        self._call, self._every_s = save, every_s
        self._between = threading.Lock()
        self._is_changed = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tocsin fences: saving", daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Save until the body ends; the caller then saves for the last time."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Process a batch of events in the body, and write its changes; the state is not saved meanwhile."""
        with self._between:
            yield
            self._is_changed = True

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            with self._between:
                if self._is_changed:
                    self._save()

    def _save(self) -> None:
        try:
            self._call()
            self._is_changed = False
        except TocsinError as error:
            print(f"warning: {error}; the state is saved later", file=sys.stderr)
