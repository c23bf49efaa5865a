"""Waiting for what happens in other threads."""

from __future__ import annotations

import time
from collections.abc import Callable


def awaited(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
