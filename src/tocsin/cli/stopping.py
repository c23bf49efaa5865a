"""Ctrl-C and requests to terminate, which end a command between two batches of events."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_FATAL: Final = 128
"""A shell adds this to the number of the signal that ended a command."""


One = TypeVar("One")


class _Asked(BaseException):
    """Ends a wait, or a call."""


class Stop:
    """A request to stop. It never interrupts the processing of a batch; a second request does."""

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

    def unless_asked(self, call: Callable[[], One]) -> One | None:
        """The result of a call, which the request interrupts; None then."""
        try:
            self._is_waiting = True
            result = None if self._number else call()
            self._is_waiting = False
        except _Asked:
            return None
        finally:
            self._is_waiting = False
        return result

    def until_asked(self, items: Iterable[One]) -> Iterator[One]:
        """The items before the request, which may come while no item does."""
        source = iter(items)
        while (item := self.unless_asked(lambda: next(source, None))) is not None:
            yield item


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


def interrupt() -> None:
    """Interrupt the main thread as Ctrl-C does, from another thread."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)


class Terminated(KeyboardInterrupt):
    """A request to terminate. Like Ctrl-C, it unwinds the stack, so that temporary files are removed."""


@contextmanager
def terminating() -> Iterator[None]:
    """Raise `Terminated` for SIGTERM in the main thread, unless the signal is handled or ignored already."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def raised(_number: int, _frame: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, raised)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def ending_at_once(endings: dict[signal.Signals, tuple[str, int]]) -> Iterator[None]:
    """While modules are imported, end the process on a signal, with its line and its status.

    An exception would not do: imports wrap it in their own errors or lose it. Only use it where nothing is to be
    cleaned up. A signal that is ignored stays ignored.
    """

    def end(number: int, _frame: object) -> None:
        line, status = endings[signal.Signals(number)]
        with suppress(OSError):  # standard error may be closed
            os.write(2, f"{line}\n".encode())
        os._exit(status)

    before = {one: handler for one in endings if (handler := signal.getsignal(one)) is not signal.SIG_IGN}
    for one in before:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
