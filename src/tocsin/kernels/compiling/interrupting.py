"""What if a user interrupts while a kernel is compiled? Numba would lose that, or break: it is told between two steps.

Python raises `KeyboardInterrupt` wherever it is, and where that is a callback of LLVM's, nobody can catch it.
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
    """Raise an interruption when Numba's next step begins, or at the end; a second one at once.

    Only where Python's own handler is there, in the thread that has it; so the outermost of several does it.
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
        """Steps are short enough."""

    def raise_if_asked(self) -> None:
        if self._times:
            raise KeyboardInterrupt
