"""What does a partition keep between micro-batches? Subscriptions and messages, in chunks seldom written again.

Chunk                what it has
`about`              JSON: the settings, how many messages there were, which chunks there are, who wrote this (FORMAT)
`subscriptions N`    subscriptions as they were given, an Arrow stream; written once
`messages N`         messages with their numbers, an Arrow stream; the last takes more until it has ROWS, and a chunk
                     goes when its last message expired

Lists of the best are not kept: they are searched for when a partition is restored.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Protocol

import pyarrow as pa

from tocsin.errors import SegmentError
from tocsin.spark.windows.packets import bytes_of, table_of
from tocsin.spark.windows.settings import Settings
from tocsin.window.parts import NUMBER, WindowPart

FORMAT: Final = 1
ROWS: Final = 1024
_ABOUT: Final = "about"
_STEPS: Final = 16
"""So many steps a part may be behind and catch up."""


class Chunks(Protocol):
    """Bytes by name."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, data: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


@dataclass
class About:
    """What is known of a partition without a look at its chunks."""

    settings: dict[str, Any]
    name: str  # which no other partition has, nor this one of another query
    format: int = FORMAT
    subscriptions: int = 0  # chunks
    first: int = 0
    taken: int = 0
    latest: float | None = None
    stretches: list[list[int]] = field(default_factory=list)  # of messages: chunk, its last number, its rows
    steps: list[str] = field(default_factory=list)  # the latest, by the names that their writers gave them

    @property
    def clock(self) -> float:
        """The time of the latest message, -inf before one."""
        return -math.inf if self.latest is None else self.latest


class Kept:
    """What a partition keeps, over chunks that are somebody's: Spark's state, or a dictionary."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        found = chunks.get(_ABOUT)
        self.about = None if found is None else _read(found)

    def begin(self, settings: Settings) -> None:
        """Nothing came yet but subscriptions, which `give` wrote."""
        count = 0
        while self._chunks.get(_subscriptions(count)) is not None:
            count += 1
        self.about = About(settings.as_dict(), uuid.uuid4().hex, subscriptions=count)

    def give(self, place: int, data: bytes) -> None:
        """A chunk of subscriptions."""
        self._chunks.put(_subscriptions(place), data)

    def part(self, settings: Settings) -> WindowPart:
        """The partition, restored."""
        about = self.known
        given = self.messages(about.first)
        window = settings.window()
        return WindowPart.restored(window, given, self.subscriptions(), about.first, about.taken, about.clock)

    def catch_up(self, part: WindowPart) -> None:
        """Bring a part that is some steps behind up to what is kept."""
        part.again(self.messages(part.taken), self.known.taken, self.known.clock)

    @property
    def known(self) -> About:
        assert self.about is not None
        return self.about

    def subscriptions(self) -> Iterator[pa.Table]:
        """The subscriptions, chunk by chunk."""
        return (table_of(self._chunk(_subscriptions(number))) for number in range(self.known.subscriptions))

    def messages(self, first: int) -> pa.Table:
        """The messages that are kept from a number on, and perhaps some before."""
        stretches = self.known.stretches
        chosen = [number for number, last, _ in stretches if last >= first] or [number for number, *_ in stretches[-1:]]
        return pa.concat_tables([table_of(self._chunk(_messages(number))) for number in chosen])

    def add(self, tables: list[pa.Table], part: WindowPart) -> str:
        """Keep messages that came, and forget those that expired, as the part has it; returns the name of this step."""
        about = self.known
        for table in tables:  # of some thousand rows at most, so that no chunk becomes large
            self._append(table)
        while len(about.stretches) > 1 and about.stretches[0][1] < part.first:
            self._chunks.remove(_messages(about.stretches.pop(0)[0]))
        about.first, about.taken = part.first, part.taken
        about.latest = part.latest if math.isfinite(part.latest) else None
        step = uuid.uuid4().hex
        about.steps = [*about.steps[-_STEPS + 1 :], step]
        self._chunks.put(_ABOUT, json.dumps(asdict(about)).encode())
        return step

    def _append(self, table: pa.Table) -> None:
        stretches = self.known.stretches
        if stretches and not table.num_rows:
            return
        if stretches and stretches[-1][2] < ROWS:
            number, _, _ = stretches.pop()
            table = pa.concat_tables([table_of(self._chunk(_messages(number))), table])
        else:
            number = stretches[-1][0] + 1 if stretches else 0
        last = table[NUMBER][-1].as_py() if table.num_rows else -1
        stretches.append([number, last, table.num_rows])
        self._chunks.put(_messages(number), bytes_of(table.combine_chunks()))

    def _chunk(self, name: str) -> bytes:
        found = self._chunks.get(name)
        if found is None:
            raise SegmentError(f"the checkpoint lacks the chunk {name!r} of a partition; start with a new one")
        return found


def _read(data: bytes) -> About:
    told = json.loads(data)
    if told.get("format") != FORMAT:
        raise SegmentError(f"the checkpoint has format {told.get('format')}, this version reads {FORMAT}")
    return About(**told)


def _subscriptions(number: int) -> str:
    return f"subscriptions {number}"


def _messages(number: int) -> str:
    return f"messages {number}"
