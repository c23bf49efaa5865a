"""Failures in the middle of a change: an allocation that fails, or an interrupt at a line of tocsin's code."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

import numpy as np
import pytest

import tocsin

_SOURCES: Final = str(Path(tocsin.__file__).parent)
_ALLOCATING: Final = ("empty", "zeros", "ones", "full", "arange", "array", "concatenate", "resize", "full_like")
_LONGEST: Final = 20_000
"""No change of a test enters as many lines, or makes as many allocations."""


class Failure(Protocol):
    """A way to fail in the middle. `failing(n)` is a context in which the n-th occasion fails, counted from 0."""

    error: type[BaseException]

    def __call__(self, number: int) -> Any: ...


class NoMemory:
    """The n-th array that tocsin makes with NumPy cannot be allocated."""

    error = MemoryError

    @contextmanager
    def __call__(self, number: int) -> Iterator[Callable[[], bool]]:
        occasions = _Occasions(number, MemoryError)
        with pytest.MonkeyPatch.context() as patch:
            for name in _ALLOCATING:
                patch.setattr(np, name, _counted(getattr(np, name), occasions))
            yield occasions.has_failed


class Interrupt:
    """An interrupt comes before the n-th line of tocsin's own code that is executed, in any thread."""

    error = KeyboardInterrupt

    @contextmanager
    def __call__(self, number: int) -> Iterator[Callable[[], bool]]:
        occasions = _Occasions(number, KeyboardInterrupt)

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            if not frame.f_code.co_filename.startswith(_SOURCES):
                return None
            if event == "line":
                occasions.come()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield occasions.has_failed
        finally:
            sys.settrace(before)


class _Occasions:
    """Occasions to fail, the n-th of which is taken. Only this thread's count."""

    def __init__(self, number: int, error: type[BaseException]) -> None:
        self._left, self._error, self._thread = number, error, threading.get_ident()

    def come(self) -> None:
        if threading.get_ident() == self._thread:
            self._left -= 1
            if self._left == -1:
                raise self._error

    def has_failed(self) -> bool:
        return self._left < 0


def _counted(function: Callable[..., Any], occasions: _Occasions) -> Callable[..., Any]:
    def counted(*given: Any, **options: Any) -> Any:
        if sys._getframe(1).f_code.co_filename.startswith(_SOURCES):
            occasions.come()
        return function(*given, **options)

    return counted


def failures(failing: Failure, every: int = 1) -> Iterator[Callable[[Callable[[], Any]], bool]]:
    """Ways to run a change, each of which fails on a later occasion, until one does not fail.

    Each returns whether the change failed.
    """
    for number in range(0, _LONGEST, every):
        is_last = [False]

        def run(change: Callable[[], Any], number: int = number, is_last: list[bool] = is_last) -> bool:
            with failing(number) as has_failed, suppress(failing.error):
                change()
            is_last[0] = not has_failed()
            return has_failed()

        yield run
        if is_last[0]:
            return
    raise AssertionError(f"a change has more than {_LONGEST:,} occasions to fail")


EACH_FAILURE: Final = [
    pytest.param(NoMemory(), 1, id="memory"),
    pytest.param(Interrupt(), 151, id="some-interrupts"),
    pytest.param(Interrupt(), int(os.environ.get("TOCSIN_EVERY_LINE", "1")), id="interrupts", marks=pytest.mark.long),
]
"""Ways to fail, and the distance between two occasions: all allocations, and few lines or all."""
