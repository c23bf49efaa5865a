"""How does an engine lie on disk? As an index folder, like a compiled one: a segment a part, with who is alive."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.index import Plan
from tocsin.segment import Publication, current_segments
from tocsin.segment.folder import part_name


def save_sources(folder: str | Path, store: Store, plan: Plan) -> None:
    """Write all that a store holds at this moment, and publish it at once."""
    with Publication(folder) as new:
        with store.reading() as snapshots:
            segments = [segment for one in snapshots if len(one) and len(segment := one.as_segment(plan))]
            for number, segment in enumerate(segments):
                new.write(number, segment)
            ids = "int64" if pa.types.is_integer(snapshots.id_type) else "string"
        living = sum(segment.living() for segment in segments)
        new.publish([part_name(number) for number in range(len(segments))], living, ids)


def open_sources(folder: str | Path) -> list[SegmentSource]:
    """The segments of a folder, mapped."""
    return [SegmentSource(segment) for segment in current_segments(folder)]
