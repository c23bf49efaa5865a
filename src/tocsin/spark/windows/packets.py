"""Packets of messages, from the task that numbers them to the partitions: one row per partition, columns as bytes.

Rows are expensive in Spark, and values that pandas must inspect even more so. So each packet has thousands of messages,
as an Arrow stream.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from tocsin.spark.windows.edits import Edits
from tocsin.window.parts import Sent

SEAT: Final = "tocsin_seat"
"""The key of a partition, from `seats`."""

SEATS: Final = "tocsin_seats"
"""The keys of partitions that receive the same packet."""

BYTES: Final = ("positions", "messages", "times", "refused", "edits")
PACKETS: Final = f"{SEATS} array<int>, place bigint, count bigint, " + ", ".join(f"{name} binary" for name in BYTES)
"""`place` is the packet's position in its micro-batch.

`times` is null unless the window is one of time. `refused` is null without rejects, and in all partitions but one.
`edits` is null without changes of subscriptions.
"""

REPORTS: Final = f"{SEAT} int, taken bigint, answered binary, reported binary"
"""What a partition tells a home: answers, which the home passes on, and rows to merge; each may be null."""

SUBSCRIPTIONS: Final = f"{SEAT} int, place bigint, data binary"
"""Subscriptions of a partition, always in the same order."""


class Packet(NamedTuple):
    """Messages for a partition, the rejected rows, and the edits of subscriptions between the messages."""

    sent: Sent
    refused: pa.Table | None  # `message`, `subscription`, `field`, `reason`
    edits: Edits | None = None

    @classmethod
    def of(cls, row: Any) -> Packet:
        """A packet from a row of PACKETS for a single partition."""
        times = None if row.times is None else np.frombuffer(row.times, np.float64)
        positions = np.frombuffer(row.positions, np.int64)
        refused = None if row.refused is None else table_of(row.refused)
        edits = None if row.edits is None else Edits(table_of(row.edits))
        return cls(Sent(int(row.count), positions, table_of(row.messages), times), refused, edits)

    def row(self, seats: list[int], place: int) -> dict[str, Any]:
        """The row of PACKETS for partitions with these keys."""
        sent = self.sent
        return {
            SEATS: seats,
            "place": place,
            "count": sent.total,
            "positions": sent.positions.tobytes(),
            "messages": bytes_of(sent.messages),
            "times": None if sent.times is None else sent.times.tobytes(),
            "refused": None if self.refused is None else bytes_of(self.refused),
            "edits": None if self.edits is None else bytes_of(self.edits.table),
        }


def bytes_of(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def table_of(data: bytes) -> pa.Table:
    """A table from an Arrow stream."""
    return pa.ipc.open_stream(pa.py_buffer(bytes(data))).read_all()
