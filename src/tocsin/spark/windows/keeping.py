"""The state of a partition between micro-batches: subscriptions and messages, in chunks that are seldom rewritten.

Chunk                contents
`about`              JSON: the settings, the number of messages, the list of chunks, the writer (FORMAT)
`subscriptions N`    subscriptions as given, an Arrow stream; written once, and again when changes are merged into them
`edits N`            later changes of subscriptions, an Arrow stream; the last one grows until it has ROWS
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
from tocsin.spark.windows.edits import apart, last_of_each, without
from tocsin.spark.windows.packets import bytes_of, table_of
from tocsin.spark.windows.settings import Settings
from tocsin.window.parts import NUMBER, WindowPart

FORMAT: Final = 2
_READABLE: Final = (1, FORMAT)
"""Format 1 has no edits."""
ROWS: Final = 1024
MOST_ROWS: Final = 8192
"""The rows of a chunk of merged subscriptions."""
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
    edits: list[list[int]] = field(default_factory=list)  # chunk, its rows
    edited: int = 0  # edits so far
    merged: int = 0  # those of them that are merged into the subscriptions

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
        part = WindowPart.restored(window, given, self.subscriptions(), about.first, about.taken, about.clock)
        part.edited = about.merged
        self._edit_again(part)
        return part

    def can_catch_up(self, part: WindowPart) -> bool:
        """Whether the chunks still have everything that a part lacks which is some steps behind."""
        return part.edited >= self.known.merged

    def catch_up(self, part: WindowPart) -> None:
        """Bring a part that is some steps behind up to date. Its lists depend only on where it arrives."""
        part.again(self.messages(part.taken), self.known.taken, self.known.clock)
        self._edit_again(part)

    def _edit_again(self, part: WindowPart) -> None:
        """Apply the edits that a part lacks, of each id the last."""
        if part.edited < self.known.edited:
            edits = self.edits()
            lacking = edits.slice(part.edited - self.known.merged)
            puts, dropped = apart(last_of_each(lacking))
            part.edit(puts, dropped)
            part.edited = self.known.edited

    @property
    def known(self) -> About:
        assert self.about is not None
        return self.about

    def subscriptions(self) -> Iterator[pa.Table]:
        """The subscriptions, chunk by chunk."""
        return (table_of(self._chunk(_subscriptions(number))) for number in range(self.known.subscriptions))

    def edits(self) -> pa.Table:
        """The edits that are not merged into the subscriptions, in their order."""
        return pa.concat_tables([table_of(self._chunk(_edits(number))) for number, _ in self.known.edits])

    def edit(self, table: pa.Table, part: WindowPart) -> None:
        """Keep new edits: those that concern this partition."""
        about = self.known
        about.edited += table.num_rows
        part.edited = about.edited
        number = 0
        if about.edits:
            number, rows = about.edits[-1]
            if rows < ROWS:
                about.edits.pop()
                table = pa.concat_tables([table_of(self._chunk(_edits(number))), table])
            else:
                number += 1
        about.edits.append([number, table.num_rows])
        self._chunks.put(_edits(number), bytes_of(table.combine_chunks()))
        if about.edited - about.merged > max(len(part.window), ROWS):
            self._merge()

    def _merge(self) -> None:
        """Merge edits into the subscriptions, so that the state grows with the subscriptions that there are."""
        about, edits = self.known, self.edits()
        chunks = [without(table, edits["id"]) for table in self.subscriptions()]
        puts, _ = apart(last_of_each(edits))
        chunks += [puts.slice(first, MOST_ROWS) for first in range(0, puts.num_rows, MOST_ROWS)]
        chunks = [table for table in chunks if table.num_rows]
        for number, table in enumerate(chunks):
            self._chunks.put(_subscriptions(number), bytes_of(table.combine_chunks()))
        for number in range(len(chunks), about.subscriptions):
            self._chunks.remove(_subscriptions(number))
        for number, _ in about.edits:
            self._chunks.remove(_edits(number))
        about.subscriptions, about.edits, about.merged = len(chunks), [], about.edited

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
    if told.get("format") not in _READABLE:
        raise SegmentError(f"the checkpoint has format {told.get('format')}, but this version reads {FORMAT}")
    return About(**{**told, "format": FORMAT})


def _subscriptions(number: int) -> str:
    return f"subscriptions {number}"


def _edits(number: int) -> str:
    return f"edits {number}"


def _messages(number: int) -> str:
    return f"messages {number}"
