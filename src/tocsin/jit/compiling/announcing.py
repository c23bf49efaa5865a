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
_COMPILED: Final = "numba:compile"
"""Numba's name for the event that a function is compiled."""


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
            self._stop = tell_compilations(self._advance)
        else:
            hint = "" if Announcement._has_hinted else "; `tocsin warm` compiles all of them ahead of time"
            Announcement._has_hinted = True
            print(f"tocsin: {words}: about {seconds:.0f} s{hint}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._stop()
            self._bar.close()
            self._bar = None

    def _advance(self, _: str) -> None:
        if self._bar is not None:
            self._bar.total = max(self._bar.total, self._bar.n + 1)
            self._bar.update()


class _Compilations(event.Listener):  # type: ignore[misc]
    """Calls a function with the name of each function that was compiled."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        """Numba requires this method; a function counts when it is finished."""

    def on_end(self, event: Any) -> None:
        self._tell(event.data["dispatcher"].py_func.__name__)


def tell_compilations(tell: Callable[[str], None]) -> Callable[[], None]:
    """Call `tell` with the name of each function that this process compiles; returns what ends that."""
    listener = _Compilations(tell)
    event.register(_COMPILED, listener)
    return lambda: event.unregister(_COMPILED, listener)


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
