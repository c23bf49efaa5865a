"""What an engine holds, in numbers: subscriptions, memory and the choice of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.engine.sources import SegmentSource
from tocsin.index import Plan, choose


@dataclass(frozen=True, slots=True)
class SourceStats:
    """One segment, or the delta. `bytes` has the memory by purpose."""

    subscriptions: int
    gone: int
    index: str
    reason: str
    bytes: Mapping[str, int]
    places: Mapping[str, int]  # number of subscriptions by kind of list
    best_first: str  # how `Top(k)` is answered, and why


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What an engine holds at a moment."""

    subscriptions: int
    delta: int
    segments: list[SourceStats] = field(default_factory=list)
    plan: Plan = field(default_factory=choose)
    is_merging: bool = False
    merge_error: str | None = None


def stats_of(source: SegmentSource) -> SourceStats:
    plan, matcher = source.segment.plan, source.segment.matcher
    return SourceStats(
        len(source),
        source.gone,
        plan.index,
        plan.reason,
        dict(matcher.sizes()),
        dict(matcher.places()),
        matcher.best_first(),
    )
