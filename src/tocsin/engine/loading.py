"""How do subscriptions become something to match against? Read, checked for doubles, planned, built."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from tocsin.errors import RecordError
from tocsin.model.subscription import Reject, Subscription, SubscriptionId, shown
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
    """All subscriptions of a source with distinct ids of one kind; of several with one id the first is kept.

    Where strings and integers are mixed, the kind that most of them have is kept, strings on a tie.
    """
    found: list[tuple[int, Subscription]] = []
    rejects: list[Reject] = []
    for some, bad, done in read_subscriptions(source):
        found.extend(some)
        rejects.extend(bad)
        if strict and rejects:
            raise_first(rejects, "subscription")
        if progress is not None:
            progress(done)
    strings = sum(isinstance(subscription.id, str) for _, subscription in found)
    kind = str if 2 * strings >= len(found) else int
    accepted: dict[SubscriptionId, Subscription] = {}
    for row, subscription in found:
        reason = _conflict(subscription.id, kind, accepted)
        if reason is None:
            accepted[subscription.id] = subscription
        else:
            rejects.append(Reject(row, subscription.id, "id", reason))
    if strict and rejects:
        raise_first(rejects, "subscription")
    return list(accepted.values()), sorted(rejects, key=lambda reject: reject.row)


def _conflict(name: SubscriptionId, kind: type, accepted: Container[SubscriptionId]) -> str | None:
    if name in accepted:
        return f"a subscription {shown(name)} exists already; the first one is kept"
    if not isinstance(name, kind):
        most, this = ("strings", "an integer") if kind is str else ("integers", "a string")
        return f"most ids are {most}, this one is {this}; use one kind"
    return None


def raise_first(rejects: list[Reject], what: str) -> None:
    """Raise the first reject as an error."""
    first = min(rejects, key=lambda reject: reject.row)
    raise RecordError(f"{what} {first.row}: {first.reason}", first.field)
