"""Waiting for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

HANG_S: Final = 300.0
"""So long a test waits before it says that something hangs. A busy machine may be slow; what hangs does so for ever."""


def awaited(condition: Callable[[], object], *errors: type[Exception], step_s: float = 0.02) -> None:
    """Wait until a condition holds; it does not hold yet where it raises one of these errors."""
    deadline = time.monotonic() + HANG_S
    while not _holds(condition, errors):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(step_s)


def _holds(condition: Callable[[], object], errors: tuple[type[Exception], ...]) -> bool:
    try:
        return bool(condition())
    except errors:
        return False
