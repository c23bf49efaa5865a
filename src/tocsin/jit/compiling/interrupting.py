"""Deferred interruption: while Numba compiles, Ctrl-C takes effect between two of its steps.

Python raises `KeyboardInterrupt` at any point. Inside a callback from LLVM nobody can catch it, so Numba would lose it
or break.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from numba.core import event

_STEPS = "numba:run_pass"


@contextmanager
def deferred() -> Iterator[None]:
    """Raise an interruption when Numba's next step begins, or at the end. A second one is raised at once.

    It acts only in the main thread and while Python's own handler is set, so only the outermost of nested uses acts.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    deferral = _Deferral()
    signal.signal(signal.SIGINT, deferral.asked)
    event.register(_STEPS, deferral)
    try:
        yield
    finally:
        event.unregister(_STEPS, deferral)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        deferral.raise_if_asked()


class _Deferral(event.Listener):  # type: ignore[misc]
    def __init__(self) -> None:
        self._times = 0

    def asked(self, number: int, frame: FrameType | None) -> None:
        self._times += 1
        if self._times > 1:
            raise KeyboardInterrupt

    def on_start(self, event: Any) -> None:
        self.raise_if_asked()

    def on_end(self, event: Any) -> None:
        """Numba requires this method. Steps are short, so checking at their start is enough."""

    def raise_if_asked(self) -> None:
        if self._times:
            raise KeyboardInterrupt
