"""What is a plan? Which index holds a set of subscriptions, and why: a value that planner makes and segment obeys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """The name of a registered index, and the reason in words for the user."""

    index: str
    reason: str
