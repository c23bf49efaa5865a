"""Verdicts: what the answer of an endpoint, or none, means for the deliveries of a request."""

from __future__ import annotations

from typing import Final, NamedTuple

from tocsin.service.deliver.schedule import asked_ms
from tocsin.service.deliver.webhook.endpoint import Answer
from tocsin.spelling import printable

DELIVERED, FAILED, REFUSED, GONE = "delivered", "failed", "refused", "gone"
"""Outcomes. The endpoint refuses with any answer but 2xx, 410, 429 and 5xx."""
MOST_REASON: Final = 500
_OF_THE_ENDPOINT: Final = frozenset((408, 425, 429, 502, 503, 504, *range(520, 531)))
"""Answers that say nothing about the delivery: the endpoint is busy, or a proxy before it does not reach it."""


class Verdict(NamedTuple):
    """What became of a request."""

    outcome: str
    reason: str = ""
    status: int | None = None
    asked_ms: int = 0  # how long to wait at least
    is_refusal: bool = False  # whether the endpoint looked at the delivery, and did not take it


def unreached(reason: str) -> Verdict:
    """The verdict if no answer came."""
    return Verdict(FAILED, printable(reason[:MOST_REASON])[:MOST_REASON])


def verdict_on(answer: Answer, now: int) -> Verdict:
    """The verdict on an answer."""
    status = answer.status
    if 200 <= status < 300:
        return Verdict(DELIVERED, status=status)
    text = "redirects are not followed" if 300 <= status < 400 else " ".join(answer.text[:MOST_REASON].split())
    reason = printable(f"HTTP {status}: {text}" if text else f"HTTP {status}")[:MOST_REASON]
    if status == 410:
        return Verdict(GONE, reason, status)
    outcome = FAILED if status == 429 or status >= 500 else REFUSED
    return Verdict(outcome, reason, status, asked_ms(answer.retry_after, now), status not in _OF_THE_ENDPOINT)
