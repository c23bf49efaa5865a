"""Times as the service stores and shows them: milliseconds since 1970, and RFC 3339."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """The time in milliseconds since 1970."""
    return int(time.time() * 1000)


def time_text(milliseconds: int) -> str:
    """A time as RFC 3339 has it, in UTC."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
