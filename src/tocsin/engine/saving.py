"""How does an engine lie on disk? As an index folder, like a compiled one: a segment a part, with who is alive."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.index import Plan
from tocsin.segment import IndexFolder
from tocsin.segment.folder import new_version, part_name, publish, version_folder, write_part


def save_sources(folder: str | Path, store: Store, plan: Plan) -> None:
    """Write all that a store holds at this moment, and publish it at once."""
    path = Path(folder)
    version = new_version()
    (path / version_folder(version)).mkdir(parents=True)
    with store.reading() as snapshots:
        segments = [segment for one in snapshots if len(one) and len(segment := one.as_segment(plan))]
        for number, segment in enumerate(segments):
            write_part(path, version, number, segment)
        ids = "int64" if pa.types.is_integer(snapshots.id_type) else "string"
    living = sum(segment.living() for segment in segments)
    publish(path, version, [part_name(number) for number in range(len(segments))], living, ids)


def open_sources(folder: str | Path) -> list[SegmentSource]:
    """The segments of a folder, mapped."""
    return [SegmentSource(segment) for segment in IndexFolder.read(folder).segments()]
