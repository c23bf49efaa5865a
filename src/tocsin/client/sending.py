"""Options of httpx, pauses, and whether a request is sent again after a failure that may pass."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from tocsin.client.calls import Ask
from tocsin.errors import InvalidInput, ServiceError, needing
from tocsin.model.subscription import shown

_MAY_PASS: Final = (408, 429, 502, 503, 504)
_LONGEST_S: Final = 30.0
_LONGEST_PAUSE_S: Final = 5.0


def httpx() -> Any:
    """The library that sends requests; raises `MissingExtra`."""
    with needing("service"):
        return import_module("httpx")


def sleep(seconds: float) -> None:
    """Sleep, in a program that blocks."""
    time.sleep(seconds)


async def async_sleep(seconds: float) -> None:
    """Sleep, in a program that awaits. asyncio is imported here: it is a tenth of what importing tocsin takes."""
    import asyncio

    await asyncio.sleep(seconds)


def options_of(url: str, token: str | None, timeout_s: float) -> dict[str, Any]:
    """The options of httpx's clients."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise InvalidInput(f"url is {url!r:.80}; it is that of a service, such as http://127.0.0.1:8470")
    headers = {"User-Agent": "tocsin-client"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    # Reading waits for long polls, whose own limit is a minute; streams send something every 15 seconds.
    timeout = httpx().Timeout(timeout_s, read=timeout_s + 60)
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout, "follow_redirects": False}


def checked_seconds(retry_s: object) -> float:
    """Seconds for tries; raises `InvalidInput`."""
    if isinstance(retry_s, bool) or not isinstance(retry_s, int | float) or not retry_s >= 0:
        raise InvalidInput(f"retry_s is {shown(retry_s)}; it is a number of seconds, and 0 sends each request once")
    return float(retry_s)


class Trying:
    """The tries of one request: how long to wait before the next one, or that the time for tries is over."""

    def __init__(self, retry_s: float, *, may_repeat: bool) -> None:
        self._ends, self._may_repeat = time.monotonic() + retry_s, may_repeat
        self._pause_s = 0.1

    def after_answer(self, status: int, headers: Mapping[str, str]) -> float | None:
        """Seconds until the next try; None if the answer is final."""
        if status not in _MAY_PASS:
            return None
        if not self._may_repeat and status not in (429, 503):  # of those two, nothing was done
            return None
        try:
            asked = float(headers.get("retry-after", ""))
        except ValueError:
            asked = 0.0
        return self._in_time(min(max(self._pause(), asked), _LONGEST_S))  # also where `asked` is not a number

    def after_failure(self, error: Exception, url: str) -> float:
        """Seconds until the next try; raises `ServiceError` if there is none."""
        was_sent = not isinstance(error, httpx().ConnectError | httpx().ConnectTimeout)
        may_try = self._may_repeat or not was_sent
        if may_try and (pause := self._in_time(self._pause())) is not None:
            return pause
        doubt = "" if may_try else "; whether the change was made is not known"
        what = str(error) or type(error).__name__
        raise ServiceError(0, "unreachable", f"{url} could not be reached: {what}{doubt}") from None

    def _in_time(self, pause: float) -> float | None:
        return pause if time.monotonic() + pause <= self._ends else None

    def _pause(self) -> float:
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
        return self._pause_s * random.uniform(0.5, 1.0)


def stream_error(status: int, body: bytes) -> None:
    """Raise the error that the answer to a stream's request is, unless it may pass."""
    if status not in (429, 502, 503, 504):
        Ask("GET", "/v1/stream", lambda *_: None).answer(status, body)
