"""Choosing the routing by the size of an index: match events where they are, or send them to the parts they visit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tocsin.columns.events.batch import EventBatch
from tocsin.errors import InvalidInput
from tocsin.index import Part, Statistics
from tocsin.placement.reporting import PlacementReport, planned

AUTO: Final = "auto"
LOCAL: Final = "local"
SHUFFLE: Final = "shuffle"
ROUTINGS: Final = (AUTO, LOCAL, SHUFFLE)

_SHARE: Final = 0.5
"""The share of a machine's memory for the index; the rest is for Java, Python and their computations."""


class Routed(NamedTuple):
    """How events reach the parts of an index, and why, in words for the user."""

    how: str  # LOCAL or SHUFFLE
    reason: str

    def __str__(self) -> str:
        return f"{self.how}, because {self.reason}"


def choose_routing(routing: str, index_bytes: int, parts: int, memory: int | None = None) -> Routed:
    """Choose how events reach an index of this size, on machines with so much memory (default: like this one).

    Raises `InvalidInput` for an unknown routing.

    >>> choose_routing("auto", 3 << 30, 8, memory=16 << 30)
    Routed(how='local', reason="an index of 3.0 GB fits half of a machine's 16.0 GB")
    >>> choose_routing("auto", 12 << 30, 8, memory=16 << 30).how
    'shuffle'
    """
    if routing not in ROUTINGS:
        raise InvalidInput(f"routing is {routing!r:.40}; it must be one of {', '.join(ROUTINGS)}")
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 1):
        raise InvalidInput(f"memory is {memory!r:.40}; it must be the memory of a machine, in bytes")
    if routing != AUTO:
        return Routed(routing, "it is given by name")
    there = machine_memory() if memory is None else memory
    size, room = f"an index of {_gigabytes(index_bytes)}", f"half of a machine's {_gigabytes(there)}"
    if index_bytes <= _SHARE * there:
        return Routed(LOCAL, f"{size} fits {room}")
    if parts < 2:
        return Routed(LOCAL, f"{size} does not fit {room}, but it has only one part")
    return Routed(SHUFFLE, f"{size} does not fit {room}, so that Spark shuffles events to its parts")


def routed_plan(
    part: Part,
    placement: str,
    partitions: int,
    statistics: Statistics | None,
    batches: Sequence[EventBatch],
    copy_bytes: float,
    memory: int | None,
) -> PlacementReport:
    """The cost of a placement and the routing to its parts; `copy_bytes` is the size of one copy of all subscriptions.

    The other arguments are those of `placement.planned`, and `memory` that of `choose_routing`.
    """

    def routed(report: PlacementReport) -> Routed:
        return choose_routing(AUTO, round(copy_bytes * report.copies), partitions, memory)

    def is_shuffled(report: PlacementReport) -> bool:
        return routed(report).how == SHUFFLE

    report = planned(part, placement, partitions, statistics, batches, is_shuffled).report
    return replace(report, routing=str(routed(report)))


def machine_memory() -> int:
    """The memory of this machine, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.1f} GB"
