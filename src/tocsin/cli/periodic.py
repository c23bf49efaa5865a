"""Calls at regular times while a stream goes on: the state is saved, and time passes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tocsin.cli.stopping import interrupt
from tocsin.errors import TocsinError


class Periodic:
    """Makes a call at regular times, in a thread. An error ends the calls, and interrupts the main thread."""

    def __init__(self, call: Callable[[], None], every_s: float) -> None:
        self._call, self._every_s = call, every_s
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tocsin: regular calls", daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make calls until the body ends. Raises what a call raised."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()
            if self._error is not None:
                raise self._error

    def _run(self) -> None:
        try:
            while not self._ended.wait(self._every_s):
                self._call()
        except BaseException as error:  # noqa: BLE001  (the main thread raises it)
            self._error = error
            if not self._ended.is_set():
                interrupt()


class Saving:
    """Calls `save` at regular times, if events came since, also while the stream is silent.

    It never saves while events are processed and their changes are written.
    """

    def __init__(self, save: Callable[[], None], every_s: float) -> None:
        self._call, self._periodic = save, Periodic(self._save_if_changed, every_s)
        self._between = threading.Lock()
        self._is_changed = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Save until the body ends; the caller then saves for the last time."""
        with self._periodic.running():
            yield

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Process a batch of events in the body, and write its changes; the state is not saved meanwhile."""
        with self._between:
            yield
            self._is_changed = True

    def _save_if_changed(self) -> None:
        with self._between:
            if self._is_changed:
                self._save()

    def _save(self) -> None:
        try:
            self._call()
            self._is_changed = False
        except TocsinError as error:
            print(f"warning: {error}; the state is saved later", file=sys.stderr)
