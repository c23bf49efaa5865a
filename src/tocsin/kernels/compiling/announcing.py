"""Announcements while a kernel is compiled: a line with the expected time or, on a terminal, a progress bar.

The time is estimated from the number of functions to compile. Short compilations are not announced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

from numba.core import event
from numba.core.dispatcher import Dispatcher
from tqdm import tqdm

_SECONDS_A_FUNCTION: Final = 0.12
"""From the README's first answer: 13 CPU seconds for 117 functions, Numba's own not counted."""

_WORTH_A_LINE_S: Final = 2.0


class Announcement:
    """An announcement, shown from its creation until `end`."""

    _has_hinted: ClassVar[bool] = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self._bar: tqdm | None = None
        functions = len(_compiled_with(function))
        seconds = functions * _SECONDS_A_FUNCTION
        if seconds < _WORTH_A_LINE_S or sys.stderr is None:
            return
        words = f"compiling {function.__name__}, once"
        if sys.stderr.isatty():
            self._bar = tqdm(total=functions, desc=f"tocsin: {words}", leave=False, unit=" functions")
            self._listener = _Listener(self._bar)
            event.register("numba:compile", self._listener)
        else:
            hint = "" if Announcement._has_hinted else "; `tocsin warm` compiles all of them ahead of time"
            Announcement._has_hinted = True
            print(f"tocsin: {words}: about {seconds:.0f} s{hint}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            event.unregister("numba:compile", self._listener)
            self._bar.close()
            self._bar = None


class _Listener(event.Listener):  # type: ignore[misc]
    def __init__(self, bar: tqdm) -> None:
        self._bar = bar

    def on_start(self, event: Any) -> None:
        """Numba requires this method; the bar moves only when a function is finished."""

    def on_end(self, event: Any) -> None:
        self._bar.total = max(self._bar.total, self._bar.n + 1)
        self._bar.update()


def _compiled_with(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """A function and all functions that it calls, directly or not, and that are not compiled yet."""
    reached, waiting = {function}, [function]
    while waiting:
        new = {one.py_func for one in _called(waiting.pop()) if not one.overloads} - reached
        reached |= new
        waiting.extend(new)
    return reached


def _called(function: Callable[..., Any]) -> Iterator[Dispatcher]:
    """The compiled functions that a function names."""
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if isinstance(called, Dispatcher):
            yield called
