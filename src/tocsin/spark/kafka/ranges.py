"""Planning of micro-batches and their tasks as ranges of offsets. Asks no broker.

An offset is the number of an event in its partition of a topic. Offsets ascend and may have gaps: compacted or aborted
events are missing, and the end of a transaction has an offset, too. So a range has an end, not a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tocsin.errors import InvalidInput, TocsinError

Offsets = dict[int, int]
"""For each partition, the offset of the next event."""


@dataclass(frozen=True, slots=True)
class Range:
    """The events of a partition with offsets from `first` to before `end`."""

    partition: int
    first: int
    end: int


def written(topic: str, offsets: Offsets) -> dict[str, Any]:
    """Offsets in the form of a checkpoint: `{"topic": {"0": 17}}`, as in Spark's own connector."""
    return {topic: {str(partition): offset for partition, offset in sorted(offsets.items())}}


def read(topic: str, noted: dict[str, Any]) -> Offsets:
    """The offsets of a checkpoint; raises `InvalidInput` if it is of another topic."""
    if list(noted) != [topic]:
        raise InvalidInput(
            f"the checkpoint is for the topic {', '.join(noted)!r}, but the query reads {topic!r}; a query that reads "
            "another topic needs a checkpoint of its own"
        )
    return {int(partition): offset for partition, offset in noted[topic].items()}


def checked(where: str, start: Offsets, low: Offsets, high: Offsets) -> None:
    """Raise `TocsinError` if events from `start` on are missing: deleted, or the topic was created again."""
    for partition, offset in sorted(start.items()):
        if partition not in high:
            raise TocsinError(
                f"partition {partition} of {where} does not exist any more; its events from offset {offset} on "
                "were not read. "
                "Was the topic created again? Start with a new checkpoint."
            )
    for partition in sorted(high):
        offset = start.get(partition, 0)
        if high[partition] < offset:
            raise TocsinError(
                f"partition {partition} of {where} ends at offset {high[partition]}, but was read up to {offset}. "
                "Was the topic created again? Start with a new checkpoint, or with gone='skip'."
            )
        if low[partition] > offset:
            raise TocsinError(
                f"events {offset} to {low[partition] - 1} of partition {partition} of {where} were deleted before they "
                "were read (its retention is too short). gone='skip' continues with the remaining events."
            )


def begun(start: Offsets, high: Offsets) -> Offsets:
    """The start of each partition. A new partition, or one that was created again, starts at its first event."""
    at = {partition: start.get(partition, 0) for partition in high}
    return {partition: offset if offset <= high[partition] else 0 for partition, offset in at.items()}


def limited(start: Offsets, high: Offsets, most: int | None) -> Offsets:
    """The end of a micro-batch of at most `most` events, shared by partitions in proportion to their waiting events.

    The remainder after rounding goes to partitions without a share first, then to those with the most events.
    """
    waiting = {partition: max(0, high[partition] - start[partition]) for partition in high}
    total = sum(waiting.values())
    if most is None or total <= most:
        return dict(high)
    shares = {partition: count * most // total for partition, count in waiting.items()}
    left = most - sum(shares.values())
    hungry = sorted((p for p in high if shares[p] < waiting[p]), key=lambda p: (shares[p] > 0, -waiting[p], p))
    for partition in hungry[:left]:
        shares[partition] += 1
    return {partition: start[partition] + shares[partition] for partition in high}


def split(start: Offsets, end: Offsets, most: int) -> list[Range]:
    """The tasks of a micro-batch: at least one per partition with events, each with at most `most` events."""
    pieces = []
    for partition, first in sorted(begun(start, end).items()):
        count = end[partition] - first
        parts = -(-count // most)
        edges = [first + count * part // parts for part in range(parts + 1)] if parts else []
        pieces += [Range(partition, a, b) for a, b in pairwise(edges)]
    return pieces
