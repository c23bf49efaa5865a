"""What is a notice? Something that subscriptions ask and that no event can give them, or every event does."""

from __future__ import annotations

from typing import NamedTuple

from tocsin.model.subscription import SubscriptionId


class Notice(NamedTuple):
    """Something that subscriptions ask and that cannot be, or always is, of the events that came.

    `condition` is one that asks it, in the subscription `example`; `subscriptions` is how many ask it.
    """

    attribute: str
    condition: str
    reason: str
    subscriptions: int
    example: SubscriptionId

    def __str__(self) -> str:
        more = f" and {self.subscriptions - 1:,} more" if self.subscriptions > 1 else ""
        return f"{self.condition} (subscription {self.example}{more}): {self.reason}"
