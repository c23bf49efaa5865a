"""Times as the service stores and shows them: milliseconds since 1970, and RFC 3339."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_FIRST_MS: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_LAST_MS: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
"""The first and the last millisecond that a text can show: those of the years 1 to 9999 in UTC."""


def now_ms() -> int:
    """The time in milliseconds since 1970."""
    return int(time.time() * 1000)


def time_text(milliseconds: int) -> str:
    """A time as RFC 3339 has it, in UTC. One outside the years 1 to 9999 is shown as the nearest one in them."""
    moment = _EPOCH + timedelta(milliseconds=min(max(milliseconds, _FIRST_MS), _LAST_MS))
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"


def milliseconds_of(text: str) -> int:
    """The time that a text in RFC 3339 means; raises `ValueError` or `TypeError` for what `time_text` cannot show."""
    milliseconds = (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
    if not _FIRST_MS <= milliseconds <= _LAST_MS:
        raise ValueError("the time is not in the years 1 to 9999 of UTC")
    return milliseconds
