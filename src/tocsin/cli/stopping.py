"""Ctrl-C and requests to terminate, which end a stream between two events."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_FATAL: Final = 128
"""A shell adds this to the number of the signal that ended a command."""


class _Asked(BaseException):
    """Ends a wait for the next line."""


class Stop:
    """A request to stop. It never interrupts the processing of an event; a second request does."""

    def __init__(self) -> None:
        self._number = 0
        self._is_waiting = False

    def __bool__(self) -> bool:
        return self._number != 0

    @property
    def status(self) -> int:
        """The exit status of a command that was stopped."""
        return _FATAL + self._number

    def ask(self, number: int, _frame: object = None) -> None:
        """Take a signal."""
        if self._number:
            raise KeyboardInterrupt
        self._number = number
        if self._is_waiting:
            self._is_waiting = False
            raise _Asked

    def until_asked(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The lines before the request, which may come while no line does."""
        source = iter(lines)
        while True:
            try:
                self._is_waiting = True
                line = None if self._number else next(source, None)
                self._is_waiting = False
            except _Asked:
                return
            finally:
                self._is_waiting = False
            if line is None:
                return
            yield line


@contextmanager
def stopping() -> Iterator[Stop]:
    """A request that both signals set, outside of the main thread none. A signal that is ignored stays ignored."""
    stop = Stop()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {one: signal.getsignal(one) for one in _SIGNALS}
    before = {one: handler for one, handler in before.items() if handler is not signal.SIG_IGN}
    try:
        for one in before:
            signal.signal(one, stop.ask)
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
