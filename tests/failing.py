"""Failures in the middle of a change: an allocation that fails, or an interrupt at a line of tocsin's code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

import numpy as np
import pytest

import tocsin

_SOURCES: Final = str(Path(tocsin.__file__).parent)
_ALLOCATING: Final = ("empty", "zeros", "ones", "full", "arange", "array", "concatenate", "resize", "full_like")
_LONGEST: Final = 1_000_000
"""More lines and allocations than any change of a test has."""


class Failure(Protocol):
    """A way to fail in the middle. `failing(n)` is a context in which the n-th occasion fails, counted from 0."""

    error: type[BaseException]

    def __call__(self, number: int) -> Any: ...


class NoMemory:
    """The n-th array that tocsin makes with NumPy cannot be allocated."""

    error = MemoryError

    @contextmanager
    def __call__(self, number: int) -> Iterator[_Occasions]:
        occasions = _Occasions(number, MemoryError)
        with pytest.MonkeyPatch.context() as patch:
            for name in _ALLOCATING:
                patch.setattr(np, name, _counted(getattr(np, name), occasions))
            yield occasions


class Interrupt:
    """An interrupt comes before the n-th line of tocsin's own code that is executed, in any thread."""

    error = KeyboardInterrupt

    @contextmanager
    def __call__(self, number: int) -> Iterator[_Occasions]:
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
            yield occasions
        finally:
            sys.settrace(before)


class _Occasions:
    """Occasions to fail, the n-th of which is taken. Only this thread's count."""

    def __init__(self, number: int, error: type[BaseException]) -> None:
        self.left, self._error, self._thread = number, error, threading.get_ident()

    def come(self) -> None:
        if threading.get_ident() == self._thread:
            self.left -= 1
            if self.left == -1:
                raise self._error


def _counted(function: Callable[..., Any], occasions: _Occasions) -> Callable[..., Any]:
    def counted(*given: Any, **options: Any) -> Any:
        if sys._getframe(1).f_code.co_filename.startswith(_SOURCES):
            occasions.come()
        return function(*given, **options)

    return counted


def failures(failing: Failure, most: int) -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Ways to run a change: at first without a failure, then so that each fails on another occasion.

    The caller makes the same object again for each. Of more than `most` occasions, as many are taken, equally spaced.
    """
    yield lambda change: change()  # kernels are compiled now
    total = list[int]()

    def run(change: Callable[[], Any], number: int = _LONGEST) -> None:
        with failing(number) as occasions, suppress(failing.error):
            change()
        total.append(number - occasions.left)

    yield run
    assert total[0] < _LONGEST
    for number in range(0, total[0], max(-(-total[0] // most), 1)):
        yield partial(run, number=number)


EACH_FAILURE: Final = [
    pytest.param(NoMemory(), 8, id="memory"),
    pytest.param(Interrupt(), 3, id="interrupts"),
    pytest.param(NoMemory(), 10_000, id="every-memory", marks=pytest.mark.long),
    pytest.param(Interrupt(), 1500, id="many-interrupts", marks=pytest.mark.long),
]
"""Ways to fail, and how many occasions to take: some, or in the long tests all allocations and many lines."""
