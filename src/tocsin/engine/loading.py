"""How do subscriptions become something to match against? Read, checked for doubles, planned, built."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tocsin.errors import RecordError
from tocsin.model.subscription import Reject, Subscription, SubscriptionId
from tocsin.planner import choose
from tocsin.records import read_subscriptions
from tocsin.segment import SegmentSet, build_segment, open_index

Progress = Callable[[float | None], None]


def load_segments(
    source: Any, index: str = "auto", *, strict: bool = False, progress: Progress | None = None
) -> tuple[SegmentSet, list[Reject]]:
    """Subscriptions from any source (or a compiled index folder), and those that could not be taken.

    `strict` raises `RecordError` at the first bad one instead.
    """
    plan = choose(index)
    if isinstance(source, str | Path) and os.path.isdir(source):  # noqa: PTH112  (False for what is no path at all)
        return open_index(source), []
    accepted, rejects = collect_subscriptions(source, strict=strict, progress=progress)
    return SegmentSet([build_segment(accepted, plan)]), rejects


def collect_subscriptions(
    source: Any, *, strict: bool = False, progress: Progress | None = None
) -> tuple[list[Subscription], list[Reject]]:
    """All subscriptions of a source with distinct ids of one kind; of several with one id the first is kept."""
    accepted: dict[SubscriptionId, Subscription] = {}
    rejects: list[Reject] = []
    for found, bad, done in read_subscriptions(source):
        rejects.extend(bad)
        for row, subscription in found:
            reason = _conflict(subscription.id, accepted)
            if reason is None:
                accepted[subscription.id] = subscription
            else:
                rejects.append(Reject(row, subscription.id, "id", reason))
        if strict and rejects:
            raise_first(rejects, "subscription")
        if progress is not None:
            progress(done)
    return list(accepted.values()), rejects


def _conflict(name: SubscriptionId, accepted: dict[SubscriptionId, Subscription]) -> str | None:
    if name in accepted:
        return f"a subscription {name!r} exists already; the first one is kept"
    first = next(iter(accepted), name)
    if isinstance(first, str) != isinstance(name, str):
        kinds = ("strings", "an integer") if isinstance(first, str) else ("integers", "a string")
        return f"the ids so far are {kinds[0]}, this one is {kinds[1]}; use one kind"
    return None


def raise_first(rejects: list[Reject], what: str) -> None:
    """Raise the first reject as an error."""
    first = min(rejects, key=lambda reject: reject.row)
    raise RecordError(f"{what} {first.row}: {first.reason}", first.field)
