"""What does a user see while a kernel is compiled? A line that says so, and how long; on a terminal a bar.

How long is estimated from how many functions a kernel leads to. What takes a moment is not announced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

from numba.core import event
from numba.core.dispatcher import Dispatcher
from tqdm import tqdm

_SECONDS_A_FUNCTION: Final = 0.35
"""README's first answer: 55 CPU seconds for 155 functions (`python -m benchmarks cold`)."""

_WORTH_A_LINE_S: Final = 2.0


class Announcement:
    """From when it is made until `end`."""

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
            hint = "" if Announcement._has_hinted else "; `tocsin warm` does it ahead"
            Announcement._has_hinted = True
            print(f"tocsin: {words}: about {seconds:.0f} s{hint}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """It is compiled."""
        if self._bar is not None:
            event.unregister("numba:compile", self._listener)
            self._bar.close()
            self._bar = None


class _Listener(event.Listener):  # type: ignore[misc]
    def __init__(self, bar: tqdm) -> None:
        self._bar = bar

    def on_start(self, event: Any) -> None:
        """Nothing is to be shown when a function is begun."""

    def on_end(self, event: Any) -> None:
        self._bar.total = max(self._bar.total, self._bar.n + 1)
        self._bar.update()


def _compiled_with(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """A function and all that it leads to and that is not there yet."""
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
