"""What an engine holds, in numbers: subscriptions, memory and the choice of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.engine.sources import SegmentSource
from tocsin.index import Plan, choose


@dataclass(frozen=True, slots=True)
class SourceStats:
    """One segment of an engine, or its delta.

    Attributes
    ----------
    subscriptions : int
        The number of live subscriptions.
    gone : int
        The number of removed ones that a merge will drop.
    index, reason : str
        The index, and why it was chosen.
    bytes : mapping of str to int
        Memory by purpose.
    places : mapping of str to int
        The number of subscriptions by kind of list.
    best_first : str
        How `Top(k)` is answered, and why.
    """

    subscriptions: int
    gone: int
    index: str
    reason: str
    bytes: Mapping[str, int]
    places: Mapping[str, int]
    best_first: str


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What an engine holds at a moment.

    Attributes
    ----------
    subscriptions : int
        The number of subscriptions.
    delta : int
        The number of them that are not in a segment yet.
    segments : list of SourceStats
        The segments, with their index, memory and reasons.
    plan : Plan
        The index for new segments, and why it was chosen.
    is_merging : bool
        Whether a merge runs in the background.
    merge_error : str or None
        The error of the last merge, if it failed. Answers stay correct.
    """

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
        source.segment.best_first(),
    )
