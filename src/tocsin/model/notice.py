"""Warnings about conditions that no event, or every event, satisfies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.model.subscription import SubscriptionId


class Notice(NamedTuple):
    """A warning about a condition that can never be, or always is, TRUE for the events that came.

    `condition` is an example of it, taken from the subscription `example`; `subscriptions` counts the subscriptions
    that have one. In a warning about an option of the call, `condition` is the option, `subscriptions` is 0 and
    `example` is None.
    """

    attribute: str
    condition: str
    reason: str
    subscriptions: int
    example: SubscriptionId | None

    def __str__(self) -> str:
        if self.example is None:
            return f"{self.condition}: {self.reason}"
        more = f" and {self.subscriptions - 1:,} more" if self.subscriptions > 1 else ""
        return f"{self.condition} (subscription {self.example}{more}): {self.reason}"


def together(ahead: Sequence[Notice], then: Sequence[Notice]) -> list[Notice]:
    """Concatenate two lists. If both warn about one condition, only the warning of the second list is kept."""
    conditions = {notice.condition for notice in then}
    return [*(notice for notice in ahead if notice.condition not in conditions), *then]
