"""What the answer of an endpoint means for the deliveries of a request."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Final

from tocsin.service.deliver.verdict import DELIVERED, FAILED, GONE, MOST_REASON, REFUSED, Verdict
from tocsin.service.deliver.webhook.endpoint import Answer
from tocsin.spelling import printable

_OF_THE_ENDPOINT: Final = frozenset((408, 425, 429, 502, 503, 504, *range(520, 531)))
"""Answers that say nothing about the delivery: the endpoint is busy, or a proxy before it does not reach it."""
_MOST_ASKED_MS: Final = 86_400_000


def verdict_on(answer: Answer, now: int) -> Verdict:
    """The verdict on an answer. The endpoint refuses with any but 2xx, 410, 429 and 5xx."""
    status = answer.status
    if 200 <= status < 300:
        return Verdict(DELIVERED, status=status)
    text = "redirects are not followed" if 300 <= status < 400 else " ".join(answer.text[:MOST_REASON].split())
    reason = printable(f"HTTP {status}: {text}" if text else f"HTTP {status}")[:MOST_REASON]
    if status == 410:
        return Verdict(GONE, reason, status)
    outcome = FAILED if status == 429 or status >= 500 else REFUSED
    return Verdict(outcome, reason, status, asked_ms(answer.retry_after, now), status not in _OF_THE_ENDPOINT)


def asked_ms(header: str | None, now: int) -> int:
    """How long `Retry-After` asks to wait: at most a day, 0 if it cannot be read."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(int(text) * 1000, _MOST_ASKED_MS)
    try:
        moment = int(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
    return max(0, min(moment - now, _MOST_ASKED_MS))
