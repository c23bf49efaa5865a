"""What is a notice? Something that is asked and that no event can give, or every event does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.model.subscription import SubscriptionId


class Notice(NamedTuple):
    """Something that subscriptions ask and that cannot be, or always is, of the events that came.

    `condition` is one that asks it, in the subscription `example`; `subscriptions` is how many ask it. Of an option of
    the call that names what is not there, `condition` is the option, no subscription asks it, and there is no example.
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
    """All of two lists, but what both say of one condition: that is told by the second alone."""
    conditions = {notice.condition for notice in then}
    return [*(notice for notice in ahead if notice.condition not in conditions), *then]
