"""Are events matched where they are, or sent to the parts of an index that they visit? That depends on its size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tocsin.columns.events.batch import EventBatch
from tocsin.errors import InvalidInput
from tocsin.index import Part, Statistics
from tocsin.placement import PlacementReport, planned

AUTO: Final = "auto"
LOCAL: Final = "local"
SHUFFLE: Final = "shuffle"
ROUTINGS: Final = (AUTO, LOCAL, SHUFFLE)

_SHARE: Final = 0.5
"""Of a machine's memory an index may have so much; the rest is for Java, Python and what they compute."""


class Routed(NamedTuple):
    """How events come to the parts of an index, and why, in words for the user."""

    how: str  # LOCAL or SHUFFLE
    reason: str

    def __str__(self) -> str:
        return f"{self.how}, for {self.reason}"


def choose_routing(routing: str, index_bytes: int, parts: int, memory: int | None = None) -> Routed:
    """How events are to come to an index of so many bytes and parts, on machines of so much memory (else: like this).

    Raises `InvalidInput` for a routing that there is not.

    >>> choose_routing("auto", 3 << 30, 8, memory=16 << 30)
    Routed(how='local', reason='an index of 3.0 GB fits the half of 16.0 GB that a machine has for it')
    >>> choose_routing("auto", 12 << 30, 8, memory=16 << 30).how
    'shuffle'
    """
    if routing not in ROUTINGS:
        raise InvalidInput(f"routing is {routing!r:.40}; there are {', '.join(ROUTINGS)}")
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 1):
        raise InvalidInput(f"memory is {memory!r:.40}; it is the bytes that a machine has")
    if routing != AUTO:
        return Routed(routing, "it is asked for by name")
    there = machine_memory() if memory is None else memory
    size, room = f"an index of {_gigabytes(index_bytes)}", f"the half of {_gigabytes(there)} that a machine has for it"
    if index_bytes <= _SHARE * there:
        return Routed(LOCAL, f"{size} fits {room}")
    if parts < 2:
        return Routed(LOCAL, f"{size} does not fit {room}, but it is one part, which every event visits")
    return Routed(SHUFFLE, f"{size} does not fit {room}: events are sent to the parts that they visit")


def routed_plan(
    part: Part,
    placement: str,
    partitions: int,
    statistics: Statistics | None,
    batches: Sequence[EventBatch],
    copy_bytes: float,
    memory: int | None,
) -> PlacementReport:
    """What a placement would cost, and how events would come to its parts, where one copy of all has so many bytes.

    The rest is as `placement.planned` has it, and `choose_routing` the memory.
    """

    def routed(report: PlacementReport) -> Routed:
        return choose_routing(AUTO, round(copy_bytes * report.copies), partitions, memory)

    def is_shuffled(report: PlacementReport) -> bool:
        return routed(report).how == SHUFFLE

    report = planned(part, placement, partitions, statistics, batches, is_shuffled).report
    return replace(report, routing=str(routed(report)))


def machine_memory() -> int:
    """The bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.1f} GB"
