"""The state of a partition between micro-batches: subscriptions and messages, in chunks that are seldom rewritten.

Chunk                contents
`about`              JSON: the settings, the number of messages, the list of chunks, the writer (FORMAT)
`subscriptions N`    subscriptions as given, an Arrow stream; written once
`messages N`         messages with their numbers, an Arrow stream; the last one grows until it has ROWS, and a chunk
                     is removed when its last message has expired

Lists of best messages are not kept: they are searched for when a partition is restored.
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
"""How many steps a part may be behind and still catch up."""


class Chunks(Protocol):
    """Bytes by name."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, data: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


@dataclass
class About:
    """The metadata of a partition."""

    settings: dict[str, Any]
    name: str  # unique to this partition and query
    format: int = FORMAT
    subscriptions: int = 0  # number of chunks
    first: int = 0
    taken: int = 0
    latest: float | None = None
    stretches: list[list[int]] = field(default_factory=list)  # of messages: chunk, its last number, its rows
    steps: list[str] = field(default_factory=list)  # names of the latest steps, given by their writers

    @property
    def clock(self) -> float:
        """The time of the latest message; -inf before the first."""
        return -math.inf if self.latest is None else self.latest


class Kept:
    """The state of a partition, in chunks stored by the caller: in Spark's state, or a dictionary."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        found = chunks.get(_ABOUT)
        self.about = None if found is None else _read(found)

    def begin(self, settings: Settings) -> None:
        """Start a partition with the subscriptions that `give` wrote, and no messages."""
        count = 0
        while self._chunks.get(_subscriptions(count)) is not None:
            count += 1
        self.about = About(settings.as_dict(), uuid.uuid4().hex, subscriptions=count)

    def give(self, place: int, data: bytes) -> None:
        """Store a chunk of subscriptions."""
        self._chunks.put(_subscriptions(place), data)

    def part(self, settings: Settings) -> WindowPart:
        """Restore the partition."""
        about = self.known
        given = self.messages(about.first)
        window = settings.window()
        return WindowPart.restored(window, given, self.subscriptions(), about.first, about.taken, about.clock)

    def catch_up(self, part: WindowPart) -> None:
        """Bring a part that is some steps behind up to date."""
        part.again(self.messages(part.taken), self.known.taken, self.known.clock)

    @property
    def known(self) -> About:
        assert self.about is not None
        return self.about

    def subscriptions(self) -> Iterator[pa.Table]:
        """The subscriptions, chunk by chunk."""
        return (table_of(self._chunk(_subscriptions(number))) for number in range(self.known.subscriptions))

    def messages(self, first: int) -> pa.Table:
        """The kept messages from a number on, and perhaps some earlier ones."""
        stretches = self.known.stretches
        chosen = [number for number, last, _ in stretches if last >= first] or [number for number, *_ in stretches[-1:]]
        return pa.concat_tables([table_of(self._chunk(_messages(number))) for number in chosen])

    def add(self, tables: list[pa.Table], part: WindowPart) -> str:
        """Keep new messages and drop those that expired in `part`; returns the name of this step."""
        about = self.known
        for table in tables:  # at most some thousand rows each, so chunks stay small
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
        raise SegmentError(f"the checkpoint has format {told.get('format')}, but this version reads {FORMAT}")
    return About(**told)


def _subscriptions(number: int) -> str:
    return f"subscriptions {number}"


def _messages(number: int) -> str:
    return f"messages {number}"
