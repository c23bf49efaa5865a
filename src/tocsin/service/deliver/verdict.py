"""Verdicts: what became of a message, and what that means for its deliveries."""

from __future__ import annotations

from typing import Final, NamedTuple

from tocsin.spelling import printable

DELIVERED, FAILED, REFUSED, GONE = "delivered", "failed", "refused", "gone"
"""Outcomes. What failed says nothing of the delivery. What it refused, it looked at. Gone: it takes nothing more."""
MOST_REASON: Final = 500


class Verdict(NamedTuple):
    """What became of a message."""

    outcome: str
    reason: str = ""
    status: int | None = None
    asked_ms: int = 0  # how long to wait at least
    is_refusal: bool = False  # whether the endpoint looked at the delivery, and did not take it


def unreached(reason: str) -> Verdict:
    """The verdict if no answer came."""
    return Verdict(FAILED, shown(reason))


def shown(reason: str) -> str:
    """A reason as it is stored and told: printable, and not long."""
    return printable(reason[:MOST_REASON])[:MOST_REASON]
